"""A worker: it is listed at the scheduler, and does what the head of a run asks of it.

It is a worker of Dask with operations of this product, and without those by which others run code on it. Under
`dask worker --preload pipeline.cluster.hand` it is the same, for sites that start workers of Dask in their own way.
"""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from distributed import Worker
from distributed.comm.core import Comm

import engine
from pipeline.cluster.commission import Commission
from pipeline.cluster.duties import Duties, ForgottenError
from pipeline.cluster.errors import WorkerRefusedError
from pipeline.cluster.identity import own_identity
from pipeline.cluster.peers import HEAD_ROLE, role_of
from pipeline.cluster.place import Place
from pipeline.cluster.quiet import OURS, keep_quiet, without_pickles, without_tasks

MODELS: Final = "CLOISTER_WORKER_MODELS"
"""The environment variable by which a worker of Dask is told its folder of models."""
_NOT_HEAD: Final = {"refused": "only the head of a run may ask for this"}


class Hand:
    """The operations of a worker. Each is refused to whoever is not a head by his certificate."""

    def __init__(self, name: str, duties: Duties) -> None:
        self.name, self._duties = name, duties
        self._readers = ThreadPoolExecutor(engine.threads() + 1, "read")
        self._answerer, self._teller = ThreadPoolExecutor(1, "answer"), ThreadPoolExecutor(1, "tell")

    @property
    def folder(self) -> Path:
        """Where the worker keeps files."""
        return self._duties.place.folder

    @property
    def operations(self) -> dict[str, Callable[..., Awaitable[Any]]]:
        """The operations by their names in messages."""
        made = (self.look, self.beat, self.accept, self.receive, self.read, self.read_many, self.answer)
        return {f"{OURS}{each.__name__}": each for each in made}

    async def look(self, comm: Comm) -> dict[str, Any]:
        """Who this worker is, told at once, however much it reads for another run."""
        return await self._done(comm, self._teller, lambda: own_identity(self.name).to_json())

    async def beat(self, comm: Comm) -> dict[str, Any]:
        """Show that this worker lives, without waiting for any of its threads."""
        return {} if role_of(comm.extra_info.get("peercert")) == HEAD_ROLE else _NOT_HEAD

    async def accept(self, comm: Comm, commission: str) -> dict[str, Any]:
        """Make ready for a commission, or name the files that are missing for it, with the bytes of each that came."""
        told = Commission(json.loads(commission))

        def accepted() -> dict[str, Any]:
            if missing := self._duties.missing(told):
                return {"missing": [[sha, end, self._duties.place.received(sha, end)] for sha, end in missing]}
            return self._duties.accept(told)

        return await self._done(comm, self._answerer, accepted)

    async def receive(
        self, comm: Comm, sha256: str, ending: str, offset: int, data: bytes, size: int
    ) -> dict[str, Any]:
        """Take a piece of a file."""

        def received() -> dict[str, Any]:
            return {"whole": self._duties.place.receive(sha256, ending, offset, data, size)}

        return await self._done(comm, self._answerer, received)

    async def read(self, comm: Comm, commission: str, name: str, options: str, data: bytes) -> dict[str, Any]:
        """Read a document."""
        return await self._done(
            comm, self._readers, lambda: self._duties.read(commission, name, json.loads(options), data)
        )

    async def read_many(self, comm: Comm, documents: list[dict[str, Any]]) -> dict[str, Any]:
        """Read documents, each of which has what `read` is told of one."""
        return {"answers": await asyncio.gather(*(self.read(comm, **document) for document in documents))}

    async def answer(self, comm: Comm, commission: str, documents: bytes) -> dict[str, Any]:
        """Answer documents that were read."""
        return await self._done(comm, self._answerer, lambda: {"rows": self._duties.answer(commission, documents)})

    async def _done(self, comm: Comm, on: ThreadPoolExecutor, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """What comes of work on a thread. Whatever goes wrong is told in words: an exception would be pickled."""
        if role_of(comm.extra_info.get("peercert")) != HEAD_ROLE:
            return _NOT_HEAD
        try:
            return await asyncio.get_running_loop().run_in_executor(on, work)
        except WorkerRefusedError as error:
            return {"refused": str(error)}
        except ForgottenError as error:
            return {"forgotten": str(error)}
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {error}"[:2000]}

    def close(self) -> None:
        """End the parsers, and what is under way."""
        self._duties.close()
        for threads in (self._readers, self._answerer, self._teller):
            threads.shutdown(wait=False, cancel_futures=True)


async def dask_setup(worker: Worker) -> None:
    """Make a worker that `dask worker --preload` starts one of ours. The folder of its models is what the environment
    variable CLOISTER_WORKER_MODELS says."""
    keep_quiet()
    without_pickles()
    folder = os.environ.get(MODELS)
    if not folder:
        raise RuntimeError(f"{MODELS} is not set: the folder in which this worker keeps models")
    worker.handlers.update(Hand(str(worker.name), Duties(Place(Path(folder)))).operations)
    without_tasks(worker)
