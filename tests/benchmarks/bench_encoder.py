"""Our encoder on each instruction set beside its peers: texts a second at 32, 128, 256 and 512 tokens.

    python -m tests.benchmarks.bench_encoder [threads ...]     needs CLOISTER_MODEL; peers need CLOISTER_MINILM

Batches of texts of equal length, from token ids. All contenders are started first and then asked in turn, round after
round, so that another load on the machine falls on all of them; between its turns a contender is stopped, for some
libraries' idle threads spin. Medians are printed, and in brackets the ratio to the first line. Peers that are not
installed are left out.
"""

import math
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.benchmarks.contenders import OURS, PEERS, usable

ROOT = Path(__file__).parents[2]
LENGTHS = (32, 128, 256, 512)
TOKENS = 4096  # of a batch
ROUNDS = 7


class Contender:
    """A process that embeds batches and says how long each took."""

    def __init__(self, name: str, threads: int) -> None:
        self.name = name
        environment = {"OMP_NUM_THREADS": str(threads), "CLOISTER_THREADS": str(threads)}
        if name in OURS:
            environment["CLOISTER_ISA"] = name.split()[-1]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.bench_encoder", "--child", name, str(threads)], cwd=ROOT,
            text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=os.environ | environment,
        )  # fmt: skip
        self.ready = self._answer() == "ready"
        self._process.send_signal(signal.SIGSTOP)

    def seconds(self, texts: int, tokens: int) -> float:
        """For one batch of `texts` texts of `tokens` tokens; NaN from a process that has crashed."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        try:
            self._process.stdin.write(f"{texts} {tokens}\n")
            self._process.stdin.flush()
            answer = float(self._answer() or "nan")
        except (BrokenPipeError, ValueError):
            return math.nan
        self._process.send_signal(signal.SIGSTOP)
        return answer

    def close(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._process.kill()
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def child(name: str, threads: int) -> None:
    """Make the contender, say so, and time what is asked for."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what the libraries print is no answer
    embed = (OURS | PEERS)[name](threads)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        texts, tokens = map(int, line.split())
        ids = np.random.default_rng(tokens).integers(1000, 20000, (texts, tokens))
        start = time.perf_counter()
        embed(ids)
        print(time.perf_counter() - start, file=answers, flush=True)


def measure(threads: int) -> None:
    """Print a table: a line a contender, a column a length."""
    everyone = [Contender(name, threads) for name in (*OURS, *filter(usable, PEERS))]
    started = [one for one in everyone if one.ready]
    rates: dict[str, list[float]] = {one.name: [] for one in started}
    for tokens in LENGTHS:
        texts = TOKENS // tokens
        rounds = [[one.seconds(texts, tokens) for one in started] for _ in range(ROUNDS)]
        for one, seconds in zip(started, zip(*rounds, strict=True), strict=True):
            rates[one.name].append(texts / statistics.median(seconds))
    for one in everyone:
        one.close()
    print(f"\ntexts a second, {threads} thread(s)\n{'':22}" + "".join(f"{n:>11} tokens" for n in LENGTHS))
    first = rates[started[0].name]
    for name, row in rates.items():
        print(f"{name:22}" + "".join(f"{a:10.1f} ({a / b:4.2f})" for a, b in zip(row, first, strict=True)), flush=True)
    if absent := [one.name for one in everyone if not one.ready]:
        print(f"did not start: {', '.join(absent)}")


def main(threads: list[int]) -> None:
    """One table for each number of threads."""
    for count in threads:
        measure(count)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], int(sys.argv[3]))
    else:
        main([int(word) for word in sys.argv[1:]] or [1, 2])
