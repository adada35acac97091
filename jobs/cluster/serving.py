"""The processes of a cluster run on a thread that may reach the network, until a signal asks them to stop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pipeline
from jobs.cluster.asked import begin_thread
from jobs.stop import Stop

_LOOK_SECONDS = 0.5


def until_signal(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Do the work on a thread of its own; SIGTERM and SIGINT set the event that it gets. Raises what it raises."""
    done: Future[None] = Future()
    loop, stop = asyncio.new_event_loop(), asyncio.Event()
    loop.set_default_executor(ThreadPoolExecutor(2, pipeline.CLUSTER_THREADS))

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            done.set_result(loop.run_until_complete(work(stop)))
        except BaseException as error:
            done.set_exception(error)

    with Stop("Stopping.") as asked:
        begin_thread(threading.Thread(target=run, name=pipeline.CLUSTER_THREADS, daemon=True))
        while not done.done():
            if asked.wait(_LOOK_SECONDS):
                loop.call_soon_threadsafe(stop.set)
                break
        done.result()
