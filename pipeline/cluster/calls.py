"""The operations of a worker and of a scheduler, as the head calls them."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

from distributed import rpc

from pipeline.cluster.errors import BadWorkerError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.peers import Credential

_DOMESTIC: Final = (OSError, EOFError, asyncio.TimeoutError, ValueError, TypeError)


class Calls:
    """Calls to one address. All of them end in WorkerLostError where nobody answers as one must."""

    def __init__(self, address: str, credential: Credential) -> None:
        self.address = address
        arguments = credential.security.get_connection_args("client")  # type: ignore[no-untyped-call]
        self._rpc = rpc(address, timeout=10, connection_args=arguments)  # type: ignore[no-untyped-call]

    async def call(self, operation: str, timeout: float | None, /, **message: Any) -> dict[str, Any]:
        """What a worker answers. WorkerLostError; WorkerRefusedError with its reason; BadWorkerError."""
        answer = await self._asked(f"cloister-{operation}", timeout, message)
        if "refused" in answer:
            raise WorkerRefusedError(str(answer["refused"])[:2000])
        if "forgotten" in answer:
            raise WorkerLostError(str(answer["forgotten"])[:200])
        if "failed" in answer:
            raise BadWorkerError(f"it failed: {str(answer['failed'])[:2000]}")
        return answer

    async def listed(self) -> Mapping[str, Mapping[str, Any]]:
        """The workers that a scheduler lists, by address. WorkerLostError."""
        workers = (await self._asked("identity", 10.0, {"n_workers": -1})).get("workers", {})
        return {str(address): facts for address, facts in workers.items() if isinstance(facts, Mapping)}

    async def _asked(self, operation: str, timeout: float | None, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            async with asyncio.timeout(timeout):
                answer = await getattr(self._rpc, operation)(**message)
        except _DOMESTIC as error:
            raise WorkerLostError(str(error) or "it did not answer in time") from error
        if not isinstance(answer, dict):
            raise BadWorkerError(f"it answered with {type(answer).__name__}")
        return answer

    async def close(self) -> None:
        """Close all connections to it."""
        for comm in list[Any](self._rpc.comms):
            comm.abort()
        await self._rpc.close_rpc()  # type: ignore[no-untyped-call]
