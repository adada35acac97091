"""Our encoder on each instruction set beside its peers: texts a second at 32, 128, 256 and 512 tokens.

    python -m tests.benchmarks.bench_encoder [threads ...]     needs CLOISTER_MODEL; peers need CLOISTER_MINILM

Batches of texts of equal length. All contestants are started first and then asked in turn, round after round, so that
another load on the machine falls on all of them; medians are printed, and ratios to avx512_vnni (or the best there is).
Peers that are not installed are left out.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.contestants import PEERS, installed

ROOT = Path(__file__).parents[2]
LENGTHS = (32, 128, 256, 512)
TOKENS = 4096  # of a batch
ROUNDS = 7


class Contestant:
    """A process that embeds batches and says how long it took."""

    def __init__(self, name: str, threads: int, environment: dict[str, str]) -> None:
        self.name = name
        limits = {"OMP_NUM_THREADS": str(threads), "CLOISTER_THREADS": str(threads)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmarks.contestants", name, str(threads)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=os.environ | limits | environment,
        )  # fmt: skip
        self.ready = self._answer() == "ready"

    def seconds(self, batch: str) -> float:
        assert self._process.stdin is not None
        self._process.stdin.write(batch + "\n")
        self._process.stdin.flush()
        return float(self._answer())

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def batches() -> dict[int, str]:
    """For each length a batch as JSON: texts, and their ids for those who have no tokenizer."""
    from engine import gguf, tokenizer

    found = tokenizer.from_metadata(gguf.read(os.environ["CLOISTER_MODEL"]).metadata)
    chance = random.Random(1)
    words = [word for word in "the of contract invoice lease report total date due tenant law court".split()]
    result = {}
    for length in LENGTHS:
        texts = [" ".join(chance.choices(words, k=length - 2)) for _ in range(max(8, TOKENS // length))]
        ids = [found.encode(text).tolist() for text in texts]
        assert {len(row) for row in ids} == {length}
        result[length] = json.dumps({"texts": texts, "ids": ids})
    return result


def contestants(threads: int) -> list[Contestant]:
    """Those that could be started: we on each instruction set, then the peers."""
    from engine.cpu import ISAS

    ours = [Contestant(isa, threads, {"CLOISTER_ISA": isa}) for isa in ISAS]
    peers = [Contestant(name, threads, {}) for name in PEERS if installed(name)] if _has_original() else []
    started = [one for one in ours + peers if one.ready]
    for one in ours + peers:
        if not one.ready:
            print(f"{one.name} did not start", file=sys.stderr)
            one.close()
    return started


def _has_original() -> bool:
    return bool(os.environ.get("CLOISTER_MINILM"))


def measure(threads: int, work: dict[int, str]) -> None:
    """Print a table: a line a contestant, a column a length."""
    started = contestants(threads)
    rates: dict[str, dict[int, float]] = {one.name: {} for one in started}
    for length, batch in work.items():
        size = len(json.loads(batch)["texts"])
        times: dict[str, list[float]] = {one.name: [] for one in started}
        for _ in range(ROUNDS):
            for one in started:
                times[one.name].append(one.seconds(batch))
        for name, seconds in times.items():
            rates[name][length] = size / statistics.median(seconds)
    for one in started:
        one.close()
    print(f"\ntexts a second, {threads} thread(s); in brackets the ratio to {started[0].name}")
    print(f"{'':18}" + "".join(f"{f'{length} tokens':>18}" for length in work))
    for name, row in rates.items():
        cells = [f"{row[n]:10.1f} ({row[n] / rates[started[0].name][n]:5.2f})" for n in work]
        print(f"{name:18}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def main(threads: list[int]) -> None:
    """One table for each number of threads."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLOISTER_BENCH_FOLDER"] = folder
        work = batches()
        for count in threads:
            measure(count, work)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [1, 2])
