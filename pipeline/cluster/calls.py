"""The operations of a worker and of a scheduler, as the head calls them."""

import asyncio
from collections.abc import Mapping
from typing import Any

from distributed import rpc

from pipeline.cluster.errors import BadWorkerError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.peers import Credential
from pipeline.cluster.quiet import OURS, ROOM
from pipeline.text.visible import visible

CONNECT_SECONDS = 10.0
"""In which a connection is there, or none will be."""
WORD, LIST = 1 << 20, 64 << 20
"""Bytes of an answer in a few words, and of a list of all workers, at most."""


class Calls:
    """Calls to one address. All of them end in WorkerLostError where nobody answers as one must."""

    def __init__(self, address: str, credential: Credential) -> None:
        self.address = address
        arguments = credential.security.get_connection_args("client")  # type: ignore[no-untyped-call]
        self._rpc = rpc(address, timeout=CONNECT_SECONDS, connection_args=arguments)  # type: ignore[no-untyped-call]

    async def call(
        self, operation: str, timeout: float | None, /, *, room: int = WORD, **message: Any
    ) -> dict[str, Any]:
        """What a worker answers, in `room` bytes at most. WorkerLostError; WorkerRefusedError with its reason;
        BadWorkerError."""
        answer = await self._asked(f"{OURS}{operation}", timeout, room, message)
        if "refused" in answer:
            raise WorkerRefusedError(_told(answer["refused"]))
        if "forgotten" in answer:
            raise WorkerLostError(_told(answer["forgotten"]))
        if "failed" in answer:
            raise BadWorkerError(f"it failed: {_told(answer['failed'])}")
        return answer

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
        try:
            async with asyncio.timeout(timeout):
                answer = await getattr(self._rpc, operation)(**message)
        except Exception as error:  # whatever a peer sends, or says that went wrong, Dask raises
            raise WorkerLostError(_told(error) or "it did not answer in time") from error
        if not isinstance(answer, dict):
            raise BadWorkerError(f"it answered with {type(answer).__name__}")
        return answer

    async def close(self) -> None:
        """Close all connections to it."""
        for comm in list[Any](self._rpc.comms):
            comm.abort()
        await self._rpc.close_rpc()  # type: ignore[no-untyped-call]


def _told(said: object) -> str:
    """What a peer says, for people and the log."""
    return visible(str(said)[:2000])
