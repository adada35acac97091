"""llama-server on the loopback, with slots, its prompt cache, and a grammar: the night's peer."""

import http.client
import json
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.benchmarks.lm.night import FREE, GRAMMAR, LIMIT, LONGEST, Ids, Night
from tests.benchmarks.lm.ours import status
from tests.benchmarks.lm.programs import program

START, LONGEST_ANSWER = 300, 3600  # seconds; an answer waits for a slot and for what others compute
ROOM = 2400
"""Tokens of a slot: instruction, document, answer."""


class Server:
    """A server that answers `slots` requests at a time."""

    def __init__(self, port: int, process: int, slots: int) -> None:
        self._port, self._process, self._slots = port, process, slots

    def night(self, prompts: list[Ids], forced: bool) -> Night:
        """Every prompt once; seconds from the first request to the last answer."""
        self._complete(prompts[0][-99:], forced, 4)
        start = time.perf_counter()
        with ThreadPoolExecutor(self._slots) as pool:
            limit = LIMIT if forced else FREE
            done = list(pool.map(lambda ids: self._complete(ids, forced, limit), prompts))
        seconds = time.perf_counter() - start
        failed = sum(forced and each["stop_type"] == "limit" for each in done)
        tokens, computed = (sum(each["timings"][name] for each in done) for name in ("predicted_n", "prompt_n"))
        return Night(len(done), seconds, tokens, failed, computed)

    def memory(self) -> int:
        """Resident bytes."""
        return status("VmRSS", str(self._process))

    def is_well(self) -> bool:
        """Whether the model is loaded."""
        try:
            return self._ask("GET", "/health", None).get("status") == "ok"
        except OSError:
            return False

    def _complete(self, ids: Ids, forced: bool, limit: int) -> dict[str, Any]:
        """The likeliest token each time, and no other sampling."""
        asked = {"prompt": ids.tolist(), "n_predict": limit, "samplers": ["top_k"], "top_k": 1, "cache_prompt": True}
        return self._ask("POST", "/completion", asked | ({"grammar": GRAMMAR} if forced else {"ignore_eos": True}))

    def _ask(self, method: str, path: str, body: Any) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LONGEST_ANSWER)
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            found = json.loads(answer.read())
            if answer.status != 200 and method == "POST":
                raise RuntimeError(found)
            return dict(found)
        finally:
            connection.close()


@contextmanager
def served(path: Path, threads: int, slots: int) -> Iterator[Server]:
    """A server of this file; it ends with the block. RuntimeError if it does not start."""
    server = program("server")
    assert server is not None
    assert LONGEST < ROOM
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(server), "-m", str(path), "--host", "127.0.0.1", "--port", str(port), "-t", str(threads), "-np", str(slots),
        "-c", str(slots * ROOM), "-b", "2048", "-ub", "512", "--cache-ram", "0", "--no-webui",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        found = Server(port, process.pid, slots)
        end = time.monotonic() + START
        while not found.is_well():
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"llama-server did not start: {process.returncode}")
            time.sleep(0.05)
        yield found
    finally:
        process.kill()
        process.wait()
