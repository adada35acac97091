"""Workers of a workspace's own authority that do not do what workers do: their credential was stolen, or a wall is
between them and the head."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.cluster.identity import own_identity
from pipeline.cluster.peers import WORKER_ROLE, read_credential
from pipeline.cluster.quiet import keep_quiet, without_pickles, without_tasks
from pipeline.cluster.serving import _Worker
from tests.cluster.processes import Machines

Answer = Callable[..., Awaitable[Any]]


async def looks_right(comm: object) -> dict[str, Any]:
    """Say what a worker says of itself."""
    return own_identity("stranger").to_json()


async def lives(comm: object) -> dict[str, Any]:
    """Live."""
    return {}


async def accepts(comm: object, commission: str) -> dict[str, Any]:
    """Accept any commission."""
    return {"engine": {"isa": "any"}, "isolation": {}}


def _for_many(read: Answer) -> Answer:
    """The operation that reads several documents, each as `read` does."""

    async def answer(comm: object, documents: list[dict[str, Any]]) -> Any:
        return {"answers": [await read(comm, **document) for document in documents]}

    return answer


RIGHT: Mapping[str, Answer] = {"look": looks_right, "beat": lives, "accept": accepts}


def always(said: Any) -> Answer:
    """An operation that answers with this, whatever it is asked."""

    async def answer(comm: object, **asked: object) -> Any:
        return said

    return answer


@contextmanager
def stranger(
    found: Machines, folder: Path, does: Mapping[str, Answer] = RIGHT, contact: str | None = None
) -> Iterator[None]:
    """A worker that is listed, with operations of its own, as long as this lasts; `contact`: the address at which it
    says that it is found."""
    listed: Future[None] = Future()
    loop, ends = asyncio.new_event_loop(), asyncio.Event()

    async def work() -> None:
        worker = _Worker(
            found.address, nthreads=1, name="stranger", protocol="tls", contact_address=contact, memory_limit=0,
            security=read_credential(found.worker, WORKER_ROLE).security, local_directory=str(folder), dashboard=False,
        )  # fmt: skip
        if "read" in does:
            worker.handlers["cloister-read_many"] = _for_many(does["read"])
        worker.handlers.update({f"cloister-{name}": answer for name, answer in does.items()})
        without_tasks(worker)
        try:
            await worker
            listed.set_result(None)
            await ends.wait()
        except BaseException as error:
            listed.set_exception(error)
        finally:
            await worker.close(timeout=1)

    keep_quiet()
    without_pickles()
    thread = threading.Thread(target=lambda: loop.run_until_complete(work()), daemon=True)
    thread.start()
    try:
        listed.result(60)
        yield
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join(60)
