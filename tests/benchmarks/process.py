"""A contender in a process of its own, which is stopped between its turns, for some libraries' idle threads spin.

    python -m tests.benchmarks.process NAME THREADS      answers requests, one JSON line each

{"do": "equal", "texts", "tokens"}: seconds for one batch of texts of equal length, of random ids
{"do": "set", "file", "name"}: seconds for a set of texts (`texts.py`) in the order of the file
{"do": "vectors", "file", "name", "to"}: its vectors, as an .npy file
{"do": "own bytes"}: memory of the process that is no file's
{"do": "shares"}: ours: multiply-adds a second on registers alone, and in the matrix products: executed, and needed
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.contenders import HELD, OURS, PEERS, TO_AVX2, Embed, batches
from tests.benchmarks.texts import read_set

ROOT = Path(__file__).parents[2]
SHARE_TOKENS, SHARE_ROUNDS, SLICE_SECONDS = 128, 60, 0.02


class Child:
    """A process of a module of the benchmarks: asked in turn, silent between. What it did not answer, because it
    crashed, is None."""

    def __init__(self, module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | environment,
        )  # fmt: skip
        self.ready = self._answer() == "ready"
        self._process.send_signal(signal.SIGSTOP)

    def ask(self, **request: Any) -> Any:
        """Its answer; None from a process that has crashed."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer = self._answer()
        except BrokenPipeError:
            return None
        self._process.send_signal(signal.SIGSTOP)
        return answer

    def close(self) -> None:
        """End it."""
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None


class Contender(Child):
    """One that embeds, by its name."""

    def __init__(self, name: str, threads: int) -> None:
        self.name, self.threads = name, threads
        super().__init__("process", [name, str(threads)], environment(name, threads))


def environment(name: str, threads: int) -> dict[str, str]:
    """What its libraries are told before they start."""
    found = {"OMP_NUM_THREADS": str(threads), "CLOISTER_THREADS": str(threads)}
    if name in OURS:
        found["CLOISTER_ISA"] = name.split()[-1]
    return found | TO_AVX2 if name in HELD else found


def own_bytes() -> int:
    """The proportional share of this process in anonymous pages."""
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return 1024 * int(rollup.split("Pss_Anon:")[1].split()[0])


def shares() -> dict[str, float]:
    """In turns, so that another load falls on both."""
    import engine

    products = {work.name: work for work in engine.bench.passes(_model(), SHARE_TOKENS)}["all matrix products"]
    rates: dict[str, list[float]] = {"peak": [], "products": []}
    works = {"peak": engine.bench.peak(), "products": products}
    counts = {name: max(1, round(SLICE_SECONDS * _rate(work.run, 3))) for name, work in works.items()}
    for _ in range(SHARE_ROUNDS):
        for name, work in works.items():
            rates[name].append(_rate(work.run, counts[name]))
    middle = {name: statistics.median(found) for name, found in rates.items()}
    return {
        "peak": middle["peak"] * works["peak"].executed,
        "executed": middle["products"] * products.executed,
        "needed": middle["products"] * products.multiply_adds,
    }


def _rate(run: Callable[[int], None], times: int) -> float:
    run(1)
    start = time.perf_counter()
    run(times)
    return times / (time.perf_counter() - start)


def _model() -> Any:
    import engine

    return engine.load(os.environ["CLOISTER_MODEL"])


def answer(name: str, embed: Embed, request: dict[str, Any]) -> Any:
    """What is asked for, in the child."""
    match request["do"]:
        case "equal":
            random = np.random.default_rng(request["tokens"])
            ids = list(random.integers(1000, 20000, (request["texts"], request["tokens"])))
            return _seconds(lambda: embed(ids))
        case "set":
            parts = batches(name, read_set(request["file"], request["name"]))
            return _seconds(lambda: [embed(part) for part in parts])
        case "vectors":
            parts = batches(name, read_set(request["file"], request["name"]))
            np.save(request["to"], np.concatenate([embed(part) for part in parts]))
            return True
        case "own bytes":
            return own_bytes()
        case "shares":
            return shares()
    raise AssertionError(request)


def _seconds(do: Callable[[], Any]) -> float:
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def serve(start: Callable[[], Callable[[dict[str, Any]], Any]]) -> None:
    """In the child: start, say so, and answer each line of standard input."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the libraries print is no answer
    answer_one = start()
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer_one(json.loads(line))), file=answers, flush=True)


def main(name: str, threads: int) -> None:
    """Make the contender, and answer."""

    def start() -> Callable[[dict[str, Any]], Any]:
        embed = (OURS | PEERS | HELD)[name](threads)
        return lambda request: answer(name, embed, request)

    serve(start)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
