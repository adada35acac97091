"""Calls to one address: what becomes of those that are under way when it is given up."""

import asyncio
import socket
from pathlib import Path

from pipeline.cluster.authority import make_credentials
from pipeline.cluster.calls import CONNECT_SECONDS, Calls
from pipeline.cluster.errors import WorkerLostError
from pipeline.cluster.peers import HEAD_ROLE, read_credential


def test_nobody_waits_for_a_connection_to_who_is_given_up(tmp_path: Path) -> None:
    """It could come about later, and a document be sent to a worker that is no longer looked after."""

    head, _ = make_credentials(tmp_path)

    async def call(address: str) -> None:
        calls = Calls(address, read_credential(head, HEAD_ROLE))
        asked = [asyncio.create_task(calls.call("answer", None)), asyncio.create_task(calls.read(60.0, room=1))]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not any(task.done() for task in asked)
        async with asyncio.timeout(CONNECT_SECONDS / 2):
            await calls.close()
            said = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(one) for one in said] == [WorkerLostError] * 2

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        asyncio.run(call(f"tls://127.0.0.1:{silent.getsockname()[1]}"))
