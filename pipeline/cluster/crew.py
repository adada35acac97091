"""The head's side of a cluster: it finds workers, makes them ready, and keeps them busy. It runs on a thread of its
own, beside the run."""

import asyncio
import json
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from pipeline.cluster.calls import Calls
from pipeline.cluster.commission import Commission
from pipeline.cluster.errors import BadWorkerError, ClusterError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.identity import check_worker, own_identity, parse_identity
from pipeline.cluster.peers import Credential
from pipeline.cluster.roster import GONE, JOINING, REFUSED, WORKING, Member, Roster

THREADS: Final = "cluster"
"""How the names of all threads begin that speak to the cluster."""
LOOK_SECONDS: Final = 1.0
"""Between two looks at who is listed."""
BEAT_SECONDS, BEAT_PATIENCE = 5.0, 15.0
"""Between two calls to a worker that it only answers, and how long it may take to."""
ALONE_SECONDS: Final = 15.0
"""Without a worker, after which the head works by itself."""
_PIECE: Final = 4 << 20  # bytes of a file that is sent
_ACCEPT_SECONDS: Final = 900.0  # kernels may be compiled first
_WAIT_SECONDS: Final = 0.1
_AGAIN_SECONDS: Final = 30.0  # after which a refused worker may try again: somebody may have mended it

T = TypeVar("T")


class Crew:
    """The workers of a run. `files` are what workers need, by sha256. Use it as a context manager."""

    def __init__(
        self,
        address: str,
        credential: Credential,
        told: Commission,
        files: Mapping[str, Path],
        begin: Callable[[threading.Thread], None] = threading.Thread.start,
    ) -> None:
        self.roster = Roster()
        self.changed = threading.Condition()
        self.told, self._files = told, files
        self._address, self._credential = address, credential
        self._own, self._notes = own_identity("head"), queue.SimpleQueue[tuple[str, dict[str, Any]]]()
        self._calls: dict[str, Calls] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop, self._begin_thread = asyncio.new_event_loop(), begin
        self._loop.set_default_executor(ThreadPoolExecutor(2, THREADS))
        self._thread = threading.Thread(target=self._loop.run_forever, name=THREADS, daemon=True)
        self._listens, self._begun = True, time.time()

    def __enter__(self) -> "Crew":
        self._begin_thread(self._thread)
        try:
            self._on_loop(self._open()).result()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._on_loop(self._close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def wait_for_some(self) -> bool:
        """Wait a little for a worker; False where there is none, and the head should work by itself meanwhile."""
        with self.changed:
            if self.roster.working():
                return True
            if time.time() > self._alone_until():
                return False
            self.changed.wait(_WAIT_SECONDS)
            return True

    def dismiss(self, member: Member, why: str) -> None:
        """Give a member nothing more."""
        self._on_loop(self._lose(member, why))

    def _alone_until(self) -> float:
        """When the head, without a worker, begins to work by itself, in seconds since 1970."""
        since = [member.since for member in self.roster.members.values() if member.state in (JOINING, GONE)]
        return max([self._begun, *since]) + ALONE_SECONDS

    def call(self, member: Member, operation: str, **message: Any) -> Future[dict[str, Any]]:
        """Ask a member for something. The future raises WorkerLostError, BadWorkerError and WorkerRefusedError, after
        which the member gets nothing more."""
        return self._on_loop(self._called(member, operation, message))

    def notes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What happened since this was last asked: an event, and its facts."""
        while not self._notes.empty():
            yield self._notes.get()

    def _note(self, event: str, **facts: Any) -> None:
        self._notes.put((event, facts))

    def _on_loop(self, work: Awaitable[T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)  # type: ignore[arg-type]

    async def _open(self) -> None:
        scheduler = Calls(self._address, self._credential)
        self._calls[self._address] = scheduler
        try:
            await self._look(scheduler)
        except (WorkerLostError, BadWorkerError) as error:
            raise ClusterError(
                f"cluster {self._address}: no scheduler answers there ({error}); see `cloister cluster status`, and "
                "whether its authority is the one of this workspace's credential"
            ) from error
        self._begin(self._watch(scheduler))

    def _begin(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self, scheduler: Calls) -> None:
        """Look again and again who is listed. A scheduler that does not answer costs nothing: who works goes on."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look(scheduler)
            except (WorkerLostError, BadWorkerError) as error:
                if self._listens:
                    self._note("the cluster's scheduler does not answer", address=self._address, reason=str(error))
                self._listens = False
            else:
                self._listens = True

    async def _look(self, scheduler: Calls) -> None:
        listed, now = await scheduler.listed(), time.time()
        for address, facts in listed.items():
            known = self.roster.members.get(address)
            if known is None or known.state == GONE or (known.state == REFUSED and now - known.since > _AGAIN_SECONDS):
                member = Member(address, str(facts.get("name"))[:200], JOINING, now)
                self.roster.members[address] = member
                self._begin(self._join(member, known))

    async def _join(self, member: Member, before: Member | None) -> None:
        """Make a worker ready, and look after it until it is gone."""
        calls = Calls(member.address, self._credential)
        self._calls[member.address] = calls
        try:
            member.identity = parse_identity(await calls.call("look", 20.0))
            member.name = member.identity.worker
            check_worker(self._own, member.identity)
            accepted = await self._accepted(calls)
            member.facts, member.isolation = accepted["engine"], accepted["isolation"]
        except WorkerRefusedError as error:
            if before is None or before.why != str(error):
                self._note("worker refused", worker=member.name, address=member.address, reason=str(error))
            await self._ended(member, REFUSED, str(error))
            return
        except (WorkerLostError, BadWorkerError) as error:
            await self._ended(member, GONE, str(error))
            return
        self._set(member, WORKING, "")
        machine = member.identity
        self._note("worker ready", worker=member.name, host=machine.host, cpu=machine.cpu, isa=machine.isa)
        while member.state == WORKING:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await calls.call("beat", BEAT_PATIENCE)
            except (WorkerLostError, BadWorkerError, WorkerRefusedError) as error:
                await self._lose(member, str(error))

    async def _accepted(self, calls: Calls) -> dict[str, Any]:
        """Have a worker accept the commission; files that it lacks are sent before."""
        while True:
            answer = await calls.call("accept", _ACCEPT_SECONDS, commission=json.dumps(self.told.message))
            if "missing" not in answer:
                return answer
            for sha256, ending, offset in answer["missing"]:
                await self._send(calls, sha256, ending, offset)

    async def _send(self, calls: Calls, sha256: str, ending: str, offset: int) -> None:
        """Send a file from `offset` on, piece by piece. Of what a worker asks for it gets what the run needs."""
        if sha256 not in self._files:
            raise BadWorkerError("it asks for a file that the run does not need")
        with self._files[sha256].open("rb") as file:
            size = file.seek(0, 2)
            file.seek(offset)
            while True:
                data = file.read(_PIECE)
                message = {"sha256": sha256, "ending": ending, "offset": offset, "data": data, "size": size}
                if (await calls.call("receive", 300.0, **message))["whole"]:
                    return
                offset += len(data)

    async def _called(self, member: Member, operation: str, message: Mapping[str, Any]) -> dict[str, Any]:
        if member.state != WORKING:
            raise WorkerLostError(member.why or "it is gone")
        asked = self._loop.create_task(self._calls[member.address].call(operation, None, **message))
        self._tasks.add(asked)  # type: ignore[arg-type]
        try:
            return await asked
        except asyncio.CancelledError:
            raise WorkerLostError("the run ended") from None
        except (WorkerLostError, BadWorkerError, WorkerRefusedError) as error:
            await self._lose(member, str(error))
            raise
        finally:
            self._tasks.discard(asked)

    async def _lose(self, member: Member, why: str) -> None:
        if member.state == WORKING:
            self._note("worker lost", worker=member.name, address=member.address, reason=why)
            await self._ended(member, GONE, why)

    async def _ended(self, member: Member, state: str, why: str) -> None:
        self._set(member, state, why)
        calls = self._calls.pop(member.address, None)
        if calls is not None:
            await calls.close()  # whoever waits for it hears of it

    def _set(self, member: Member, state: str, why: str) -> None:
        with self.changed:
            member.state, member.why, member.since = state, why, time.time()
            self.changed.notify_all()

    async def _close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for calls in self._calls.values():
            await calls.close()
