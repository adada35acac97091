"""The head's side of a cluster: it finds workers, makes them ready, and keeps them busy. It runs on a thread of its
own, beside the run."""

import asyncio
import json
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from pipeline.cluster.calls import WORD, Calls
from pipeline.cluster.commission import Commission
from pipeline.cluster.errors import BadWorkerError, ClusterError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.identity import check_memory, check_worker, own_identity, parse_identity, parse_readiness
from pipeline.cluster.peers import Credential
from pipeline.cluster.roster import GONE, JOINING, REFUSED, WORKING, Member, Roster
from pipeline.plan import CLUSTER_THREADS
from pipeline.text.visible import visible

LOOK_SECONDS: Final = 1.0
"""Between two looks at who is listed."""
BEAT_SECONDS, BEAT_PATIENCE = 5.0, 15.0
"""Between two calls to a worker that it only answers, and how long it may take to."""
ALONE_SECONDS: Final = 15.0
"""Without a worker, after which the head works by itself."""
_PIECE: Final = 4 << 20  # bytes of a file that is sent
_PIECE_SECONDS: Final = 300.0
_ACCEPT_SECONDS: Final = 900.0  # kernels may be compiled first
_WAIT_SECONDS: Final = 0.1
_AGAIN_SECONDS: Final = 30.0  # after which a refused worker may try again: somebody may have mended it
_REACHED_SECONDS: Final = 2.0  # after which one that could not be reached may
_REFUSALS: Final = 7  # after which one that answers with nonsense need not wait twice as long again
_ROUNDS: Final = 3  # in which a worker may say what it lacks

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
        lock = threading.RLock()
        self.changed, self.room = threading.Condition(lock), threading.Condition(lock)  # room: to read a document
        self.told, self._files = told, files
        self._address, self._credential = address, credential
        self._own, self._notes = own_identity("head"), queue.SimpleQueue[tuple[str, dict[str, Any]]]()
        self._scheduler, self._calls = Calls(address, credential), dict[str, Calls]()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop, self._begin_thread = asyncio.new_event_loop(), begin
        self._loop.set_default_executor(ThreadPoolExecutor(2, CLUSTER_THREADS))
        self._thread = threading.Thread(target=self._loop.run_forever, name=CLUSTER_THREADS, daemon=True)
        self._listens, self._closed, self._worked = True, False, time.monotonic()

    def __enter__(self) -> "Crew":
        self._begin_thread(self._thread)
        try:
            self._on_loop(self._open()).result()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with self.changed:
            self._closed = True  # from now on nobody waits for what no loop does
        self._on_loop(self._close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def closed(self) -> bool:
        """Whether the run has ended: who still waits for a worker waits in vain."""
        return self._closed

    def wait_for_some(self) -> bool:
        """Wait a little for a worker; False where nobody has worked for a while, and the head should by itself: others
        may be listed, and never come so far."""
        with self.changed:
            if self.roster.working():
                return True
            if time.monotonic() > self._worked + ALONE_SECONDS:
                return False
            self.changed.wait(_WAIT_SECONDS)
            return True

    def dismiss(self, member: Member, error: Exception) -> None:
        """Give a member nothing more: after nonsense for a while, and after more of it for longer."""
        self._asked(self._lose(member, error))

    def call(
        self, member: Member, operation: str, *, room: int = WORD, timeout: float | None = None, **message: Any
    ) -> Future[dict[str, Any]]:
        """Ask a member for something, for an answer of `room` bytes at most. The future raises WorkerLostError,
        BadWorkerError and WorkerRefusedError, after which the member gets nothing more."""
        return self._asked(self._called(member, lambda calls: calls.call(operation, timeout, room=room, **message)))

    def read(self, member: Member, *, room: int, timeout: float, small: bool, **message: Any) -> Future[dict[str, Any]]:
        """Have a member read a document; a small one together with others."""
        if small:
            return self._asked(self._called(member, lambda calls: calls.read(timeout, room=room, **message)))
        return self.call(member, "read", room=room, timeout=timeout, **message)

    def _asked(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Have the loop do something, unless the run has ended."""
        with self.changed:
            if not self._closed:
                return self._on_loop(work)
        work.close()
        refused: Future[T] = Future()
        refused.set_exception(WorkerLostError("the run ended"))
        return refused

    def notes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What happened since this was last asked: an event, and its facts."""
        while not self._notes.empty():
            yield self._notes.get()

    def _note(self, event: str, **facts: Any) -> None:
        self._notes.put((event, facts))

    def _on_loop(self, work: Awaitable[T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)  # type: ignore[arg-type]

    async def _open(self) -> None:
        try:
            await self._look()
        except (WorkerLostError, BadWorkerError) as error:
            raise ClusterError(
                f"cluster {self._address}: no scheduler answers there ({error}); see `cloister cluster status`, and "
                "whether its authority is the one of this workspace's credential"
            ) from error
        self._begin(self._watch())

    def _begin(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch(self) -> None:
        """Look again and again who is listed. A scheduler that does not answer costs nothing: who works goes on."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except (WorkerLostError, BadWorkerError) as error:
                if self._listens:
                    self._note("the cluster's scheduler does not answer", address=self._address, reason=str(error))
                self._listens = False
            else:
                self._listens = True

    async def _look(self) -> None:
        listed = await self._scheduler.listed()
        for address, facts in listed.items():
            known = self.roster.members.get(address)
            if known is None or (known.state in (GONE, REFUSED) and time.monotonic() >= known.again):
                member = Member(address, visible(str(facts.get("name"))[:200]), JOINING, time.time())
                if known is not None:
                    member.refusals, member.number = known.refusals, known.number + 1
                self.roster.add(member)
                self._begin(self._join(member, known.why if known else ""))

    async def _join(self, member: Member, why: str) -> None:
        """Make a worker ready, and look after it until it is gone; `why` it was not, when it was asked before."""
        try:
            calls = self._calls[member.address] = Calls(member.address, self._credential)
            await self._ready(member, calls)
        except Exception as error:  # whatever it is or says: who cannot work is not waited for
            if str(error) != why:
                event = "worker not reached" if isinstance(error, WorkerLostError) else "worker refused"
                self._note(event, worker=member.name, address=member.address, reason=str(error))
            await self._ended(member, error)
            return
        self._set(member, WORKING, "")
        machine = member.identity
        assert machine is not None
        self._note("worker ready", worker=member.name, host=machine.host, cpu=machine.cpu, isa=machine.isa)
        while member.state == WORKING:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                await calls.call("beat", BEAT_PATIENCE)
            except (WorkerLostError, BadWorkerError, WorkerRefusedError) as error:
                await self._lose(member, error)

    async def _ready(self, member: Member, calls: Calls) -> None:
        """Have a worker say who it is, and accept the commission."""
        member.identity = parse_identity(await calls.call("look", 20.0))
        member.name = member.identity.worker
        check_worker(replace(self._own, clock=time.time()), member.identity)
        check_memory(member.identity, sum(path.stat().st_size for path in self._files.values()))
        member.facts, member.isolation = parse_readiness(await self._accepted(calls))

    async def _accepted(self, calls: Calls) -> dict[str, Any]:
        """Have a worker accept the commission; files that it lacks are sent before."""
        for _ in range(_ROUNDS):
            answer = await calls.call("accept", _ACCEPT_SECONDS, commission=json.dumps(self.told.message))
            if "missing" not in answer:
                return answer
            for sha256, ending, offset in answer["missing"]:
                await self._send(calls, sha256, ending, offset)
        raise BadWorkerError("it lacks files that it has been sent")

    async def _send(self, calls: Calls, sha256: str, ending: str, offset: int) -> None:
        """Send a file from `offset` on, piece by piece. Of what a worker asks for it gets what the run needs."""
        if (sha256, ending) not in self.told.files:
            raise BadWorkerError("it asks for a file that the run does not need")
        with self._files[sha256].open("rb") as file:
            size = file.seek(0, 2)
            file.seek(min(offset, size))
            while True:
                data = file.read(_PIECE)
                answer = await calls.call(
                    "receive", _PIECE_SECONDS, sha256=sha256, ending=ending, offset=offset, data=data, size=size
                )
                if answer.get("whole"):
                    return
                offset += len(data)
                if offset >= size:
                    raise BadWorkerError("it has a whole file, and asks for more of it")

    async def _called(
        self, member: Member, ask: Callable[[Calls], Coroutine[Any, Any, dict[str, Any]]]
    ) -> dict[str, Any]:
        if member.state != WORKING:
            raise WorkerLostError(member.why or "it is gone")
        asked = self._loop.create_task(ask(self._calls[member.address]))
        self._tasks.add(asked)  # type: ignore[arg-type]
        try:
            return await asked
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise  # nobody waits for it any more
            raise WorkerLostError("the run ended") from None
        except (WorkerLostError, BadWorkerError, WorkerRefusedError) as error:
            await self._lose(member, error)
            raise
        finally:
            self._tasks.discard(asked)

    async def _lose(self, member: Member, error: Exception) -> None:
        if member.state == WORKING:
            self._note("worker lost", worker=member.name, address=member.address, reason=str(error))
            await self._ended(member, error)

    async def _ended(self, member: Member, error: Exception) -> None:
        """A member works no more: it is gone, or it is refused, and asked again after a while."""
        lost, now = isinstance(error, WorkerLostError), time.monotonic()
        if not lost:
            member.again = now + _AGAIN_SECONDS * 2**member.refusals
        elif member.state == JOINING:
            member.again = now + _REACHED_SECONDS
        if not lost and not isinstance(error, WorkerRefusedError):
            member.refusals = min(member.refusals + 1, _REFUSALS)
        self._set(member, GONE if lost else REFUSED, str(error))
        calls = self._calls.pop(member.address, None)
        if calls is not None:
            await calls.close()  # whoever waits for it hears of it

    def _set(self, member: Member, state: str, why: str) -> None:
        with self.changed:
            if member.state == WORKING:
                self._worked = time.monotonic()
            member.state, member.why, member.since = state, why, time.time()
            self.changed.notify_all()
            self.room.notify_all()

    async def _close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for calls in (self._scheduler, *self._calls.values()):
            await calls.close()
