"""The operations of a worker and of a scheduler, as the head calls them."""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from distributed import rpc

from pipeline.cluster.errors import BadWorkerError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.peers import Credential
from pipeline.cluster.quiet import LIST, OURS, ROOM
from pipeline.text.visible import visible

CONNECT_SECONDS = 10.0
"""In which a connection is there, or none will be."""
WORD: Final = 1 << 20
"""Bytes of an answer in a few words, at most."""
_READS: Final = {f"{OURS}read", f"{OURS}read_many"}  # who does not answer to these in time and lives will not later
_AT_ONCE: Final = 32  # documents in one message of read_many, at most
_READ_BESIDE: Final = 8  # of them, for which a worker has as long as for one: it has others before that, too
_UNDER_WAY: Final = 2  # such messages to a worker, so that it has documents while others come back


@dataclass(frozen=True)
class _Waiting:
    """A document that waits for the message in which it is sent."""

    message: Mapping[str, Any]
    room: int
    answer: "asyncio.Future[dict[str, Any]]"


class Calls:
    """Calls to one address. All of them end in WorkerLostError where nobody answers as one must."""

    def __init__(self, address: str, credential: Credential) -> None:
        self.address = address
        self._waiting, self._under_way = deque[_Waiting](), set[asyncio.Task[None]]()
        self._asking, self._closed = set["asyncio.Task[Any] | None"](), False
        arguments = credential.security.get_connection_args("client")  # type: ignore[no-untyped-call]
        self._rpc = rpc(address, timeout=CONNECT_SECONDS, connection_args=arguments)  # type: ignore[no-untyped-call]

    async def call(
        self, operation: str, timeout: float | None, /, *, room: int = WORD, **message: Any
    ) -> dict[str, Any]:
        """What a worker answers, in `room` bytes at most. WorkerLostError; WorkerRefusedError with its reason;
        BadWorkerError."""
        return _checked(await self._asked(f"{OURS}{operation}", timeout, room, message))

    async def read(self, timeout: float, /, *, room: int, **message: Any) -> dict[str, Any]:
        """What a worker answers to a small document, which is sent together with others that wait: a message costs the
        head more than the document. Raises what `call` does."""
        waiting = _Waiting(message, room, asyncio.get_running_loop().create_future())
        self._waiting.append(waiting)
        self._send_some(timeout)
        return await waiting.answer

    def _send_some(self, timeout: float) -> None:
        if self._waiting and len(self._under_way) < _UNDER_WAY:
            some = [self._waiting.popleft() for _ in range(min(_AT_ONCE, len(self._waiting)))]
            task = asyncio.get_running_loop().create_task(self._send(some, timeout))
            self._under_way.add(task)

            def over(_: object) -> None:
                self._under_way.discard(task)
                self._send_some(timeout)

            task.add_done_callback(over)

    async def _send(self, some: Sequence[_Waiting], timeout: float) -> None:
        """Send documents in one message, and give each its answer, or what went wrong."""
        answers: Any
        try:
            room = sum(one.room for one in some)
            patience = timeout * max(1.0, len(some) / _READ_BESIDE)
            said = await self.call("read_many", patience, room=room, documents=[dict(one.message) for one in some])
            answers = said.get("answers")
            is_whole = isinstance(answers, list | tuple) and len(answers) == len(some)
            if not is_whole or not all(isinstance(one, dict) for one in answers):
                raise BadWorkerError("it did not answer to each document")
        except (WorkerLostError, BadWorkerError, WorkerRefusedError) as error:
            answers = [error] * len(some)
        except asyncio.CancelledError:
            answers = [WorkerLostError("it is gone")] * len(some)
        for one, answer in zip(some, answers, strict=True):
            if one.answer.done():  # the run may have ended
                continue
            try:
                if isinstance(answer, Exception):
                    raise answer
                one.answer.set_result(_checked(answer))
            except (WorkerLostError, BadWorkerError, WorkerRefusedError) as error:
                one.answer.set_exception(error)

    async def listed(self) -> Mapping[str, Mapping[str, Any]]:
        """The workers that a scheduler lists, by address. WorkerLostError."""
        workers = (await self._asked("identity", 10.0, LIST, {"n_workers": -1})).get("workers", {})
        if not isinstance(workers, Mapping):
            raise BadWorkerError("it does not list workers")
        return {str(address): facts for address, facts in workers.items() if isinstance(facts, Mapping)}

    async def _asked(
        self, operation: str, timeout: float | None, room: int, message: Mapping[str, Any]
    ) -> dict[str, Any]:
        ROOM.set([room])
        self._asking.add(asker := asyncio.current_task())
        try:
            async with asyncio.timeout(timeout) as patience:
                answer = await getattr(self._rpc, operation)(**message)
        except asyncio.CancelledError:
            if not self._closed:
                raise
            raise WorkerLostError("it is gone") from None
        except Exception as error:  # whatever a peer sends, or says that went wrong, Dask raises
            if patience.expired() and operation in _READS:
                raise BadWorkerError("it had documents to read for far too long") from error
            raise WorkerLostError(_told(error) or "it did not answer in time") from error
        finally:
            self._asking.discard(asker)
        if not isinstance(answer, dict):
            raise BadWorkerError(f"it answered with {type(answer).__name__}")
        return answer

    async def close(self) -> None:
        """Close all connections to it, also those that are being made. Nobody waits for an answer after this."""
        self._closed = True
        for one in self._waiting:
            if not one.answer.done():
                one.answer.set_exception(WorkerLostError("it is gone"))
        self._waiting.clear()
        for comm in list[Any](self._rpc.comms):
            comm.abort()
        asking = [task for task in self._asking if task]
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        await self._rpc.close_rpc()  # type: ignore[no-untyped-call]


def _checked(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer that tells of no failure of the worker. WorkerRefusedError, WorkerLostError, BadWorkerError."""
    if "refused" in answer:
        raise WorkerRefusedError(_told(answer["refused"]))
    if "forgotten" in answer:
        raise WorkerLostError(_told(answer["forgotten"]))
    if "failed" in answer:
        raise BadWorkerError(f"it failed: {_told(answer['failed'])}")
    return answer


def _told(said: object) -> str:
    """What a peer says, for people and the log; of what has no end in its depth, only its type."""
    try:
        return visible(str(said)[:2000])
    except RecursionError:
        return type(said).__name__
