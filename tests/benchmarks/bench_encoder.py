"""Our encoder on each instruction set beside its peers: equal and mixed lengths, accuracy, shares, memory, start.

All contenders of a number of threads are started first and then asked in turn, round after round, so that another load
on the machine falls on all of them. Tokenizing is left out for all.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.benchmarks.contenders import HELD, OURS, PEERS, usable
from tests.benchmarks.exports import FOLDER
from tests.benchmarks.process import ROOT, Contender
from tests.benchmarks.results import Point, Results, Seconds
from tests.benchmarks.texts import write_sets

BATCH_TOKENS = 4096
STARTS = 5
FIRST_VECTOR = """
import sys, time, engine
engine.load(sys.argv[1]).embed(["the lease"])
print(time.monotonic())
"""
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to measure, and how often."""

    lengths: tuple[int, ...] = (32, 128, 256, 512)
    threads: tuple[int, ...] = (1, 2)
    rounds: int = 7
    texts: int = 192  # of the mixed set
    names: tuple[str, ...] = (*OURS, *PEERS, *HELD)


def measure(plan: Plan, say: Say) -> Results:
    """Everything but whole jobs."""
    from engine.cpu import choose_isa, cpu_flags, usable_flags

    results = Results(isa=choose_isa(usable_flags(cpu_flags()), None))
    names = [name for name in plan.names if usable(name)]
    results.absent += [
        f"{name} (not installed, or the CPU lacks what it is for)" for name in plan.names if name not in names
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER] = folder  # for the contenders, which inherit it
        sets = str(Path(folder) / "sets.npz")
        results.mixture, results.compared = write_sets(Path(sets), plan.texts)
        for threads in plan.threads:
            _measure_speed(plan, names, threads, sets, results, say)
        ours = next((name for name in OURS if name in names), None)
        if plan.threads == (1, 2) and ours:
            say(f"{ours}: two threads beside one")
            _measure_scaling(plan, ours, sets, results)
        _measure_alone(names, sets, Path(folder), results, say)
    if ours:
        say(f"{ours}: starts")
        results.start_seconds, results.cold_seconds = _starts(ours.split()[-1])
    return results


@contextmanager
def _started(everyone: list[Contender]) -> Iterator[list[Contender]]:
    try:
        yield [one for one in everyone if one.ready]
    finally:
        for one in everyone:
            one.close()


def _measure_speed(plan: Plan, names: Sequence[str], threads: int, sets: str, results: Results, say: Say) -> None:
    with _started([Contender(name, threads) for name in names]) as started:
        results.absent += [
            f"{name} (did not start, {threads} threads)" for name in names if name not in {one.name for one in started}
        ]
        for tokens in plan.lengths:
            say(f"{tokens} tokens, threads: {threads}")
            texts = BATCH_TOKENS // tokens
            request = {"do": "equal", "texts": texts, "tokens": tokens}
            results.speeds[Point(threads, str(tokens), texts)] = _rounds(started, plan.rounds, request)
        for order in ("mixed", "sorted"):
            say(f"{order} lengths, threads: {threads}")
            request = {"do": "set", "file": sets, "name": order}
            results.speeds[Point(threads, order, plan.texts)] = _rounds(started, max(1, plan.rounds // 2), request)


def _rounds(started: list[Contender], rounds: int, request: dict[str, object]) -> Seconds:
    """Each in turn; one round before, which is not counted."""
    seconds: Seconds = {one.name: [] for one in started}
    for round_ in range(rounds + 1):
        for one in started:
            answer = one.ask(**request)
            if round_:
                seconds[one.name].append(answer)
    return seconds


def _measure_scaling(plan: Plan, name: str, sets: str, results: Results) -> None:
    with _started([Contender(name, threads) for threads in (1, 2)]) as pair:
        requests: dict[str, dict[str, object]] = {
            str(tokens): {"do": "equal", "texts": BATCH_TOKENS // tokens, "tokens": tokens} for tokens in plan.lengths
        }
        requests["mixed"] = {"do": "set", "file": sets, "name": "mixed"}
        for what, request in requests.items():
            seconds: Seconds = {"1": [], "2": []}
            for _ in range(2 * plan.rounds):
                for one in pair:
                    seconds[str(one.threads)].append(one.ask(**request))
            results.scaling[what] = seconds


def _measure_alone(names: Sequence[str], sets: str, folder: Path, results: Results, say: Say) -> None:
    """What needs no turns: memory after a first batch, vectors, shares. One contender at a time."""
    vectors: dict[str, np.ndarray] = {}
    for name in names:
        say(f"{name}: memory and accuracy")
        with _started([Contender(name, 1)]) as started:
            for one in started:
                one.ask(do="equal", texts=32, tokens=128)
                if (found := one.ask(do="own bytes")) is not None:
                    results.own_bytes[name] = found
                file = folder / f"{len(vectors)}.npy"
                if one.ask(do="vectors", file=sets, name="compared", to=str(file)):
                    vectors[name] = np.load(file)
                if name in OURS and (shares := one.ask(do="shares")):
                    results.shares[name] = shares
    if (truth := vectors.get("torch float32")) is not None:
        results.cosines = {name: (found * truth).sum(1).tolist() for name, found in vectors.items()}


def _starts(isa: str) -> tuple[list[float], float]:
    """Seconds from the start of a process to its first vector: several with warm caches, one with none."""
    with tempfile.TemporaryDirectory() as cache:
        cold = _start(isa, CLOISTER_CACHE=cache)
        return [_start(isa, CLOISTER_CACHE=cache) for _ in range(STARTS)], cold


def _start(isa: str, **environment: str) -> float:
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", FIRST_VECTOR, os.environ["CLOISTER_MODEL"]], cwd=ROOT, text=True, check=True,
        stdout=subprocess.PIPE, env=os.environ | {"CLOISTER_ISA": isa} | environment,
    )  # fmt: skip
    return float(done.stdout) - began
