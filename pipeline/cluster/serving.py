"""The processes of a cluster besides the head: the scheduler, at which workers are listed, and a worker."""

import asyncio
import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from distributed import Scheduler, Worker

from pipeline.cluster.calls import Calls
from pipeline.cluster.duties import Duties
from pipeline.cluster.errors import BadWorkerError, ClusterError, WorkerLostError
from pipeline.cluster.hand import Hand
from pipeline.cluster.peers import Credential
from pipeline.cluster.place import Place
from pipeline.cluster.quiet import LIST, keep_quiet, without_pickles, without_tasks

_AGAIN_SECONDS: Final = 2.0
_CLOSE_SECONDS: Final = 10.0
_OF_OTHERS: Final = ("certificate verify failed", "unknown ca")
"""Signs of a certificate of another authority, on either side."""
_BY_DATE: Final = ("expired", "not yet valid")
"""Signs of one that is not valid now, for which a worker waits: a clock is set, a scheduler is started anew."""

Told = Callable[[str], None]
"""Told of what happens, in one line for people."""


class _Scheduler(Scheduler):
    """A scheduler of Dask that serves no pages."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Serve nothing."""


class _Worker(Worker):
    """A worker of Dask that serves no pages."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Serve nothing."""


async def run_scheduler(host: str, port: int, credential: Credential, stop: asyncio.Event, ready: Told) -> None:
    """Be the scheduler until `stop` is set; `ready` is told its address. ClusterError where the port is taken."""
    keep_quiet()
    without_pickles(LIST)
    scheduler = _Scheduler(
        host=host, port=port, protocol="tls", security=credential.security, dashboard=False,
    )  # fmt: skip
    without_tasks(scheduler)
    try:
        await scheduler
    except (OSError, RuntimeError) as error:  # in which Dask wraps whatever it is
        why = error.__cause__ or error
        told = (why.strerror if isinstance(why, OSError) else None) or why
        raise ClusterError(f"cannot listen on {host}:{port}: {told}; choose another --host or --port") from error
    try:
        ready(scheduler.address)
        await stop.wait()
    finally:
        await scheduler.close()


async def run_worker(
    address: str, credential: Credential, name: str, models: Path, stop: asyncio.Event, told: Told
) -> None:
    """Be a worker until `stop` is set: listed at a scheduler, again and again, for that may be started anew.

    ClusterError where the folder of models cannot be used, or the scheduler is of another authority.
    """
    keep_quiet()
    without_pickles()
    hand = Hand(name, Duties(Place(models)))
    try:
        while not stop.is_set():
            if await _answers(address, credential, stop, told):
                await _listed(address, credential, hand, stop, told)
    finally:
        hand.close()


async def _answers(address: str, credential: Credential, stop: asyncio.Event, told: Told) -> bool:
    """Wait until a scheduler answers; False if `stop` is set before. ClusterError where it is of another authority."""
    waits = False
    while not stop.is_set():
        calls = Calls(address, credential)
        try:
            await calls.listed()
            return True
        except (WorkerLostError, BadWorkerError) as error:
            if _tells(error, _OF_OTHERS) and not _tells(error, _BY_DATE):
                raise ClusterError(
                    f"{address}: its scheduler and {credential.path} are of different authorities; copy keys/cluster/"
                    "worker.pem anew from the workspace whose scheduler that is"
                ) from error
            if not waits:
                told(f"waiting for the scheduler {address}: {error}")
            waits = True
        finally:
            await calls.close()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), _AGAIN_SECONDS)
    return False


def _tells(error: BaseException | None, signs: tuple[str, ...]) -> bool:
    """Whether an error, or one that it comes of, tells of one of these."""
    while error is not None:
        told = str(error).lower()
        if any(sign in told for sign in signs):
            return True
        error = error.__cause__ or error.__context__
    return False


async def _listed(address: str, credential: Credential, hand: Hand, stop: asyncio.Event, told: Told) -> None:
    """Be listed until `stop` is set or the scheduler is gone."""
    scratch = tempfile.mkdtemp(prefix="cloister-worker-")  # Dask makes a folder there, and puts nothing in it
    worker = _Worker(
        address, nthreads=1, name=f"{hand.name}-{os.getpid()}-{time.time_ns() % 1_000_000:06d}", protocol="tls",
        security=credential.security, local_directory=scratch, memory_limit=0, dashboard=False,
    )  # fmt: skip
    worker.handlers.update(hand.operations)
    without_tasks(worker)
    try:
        try:
            await worker
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:  # in which Dask wraps whatever it is
            told(f"the scheduler {address} did not take this worker: {error.__cause__ or error}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), _AGAIN_SECONDS)
            return
        told(f"listed: {hand.name} at {address}")
        await _until(stop, worker)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if not stop.is_set():
        told(f"the scheduler {address} is gone")


async def _until(stop: asyncio.Event, worker: Worker) -> None:
    """Wait until `stop` is set or the scheduler is gone, and close the worker."""
    ends = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(worker.finished())]  # type: ignore[no-untyped-call]
    try:
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for end in ends:
            end.cancel()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(worker.close(timeout=_CLOSE_SECONDS), _CLOSE_SECONDS)
