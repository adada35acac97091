"""Who is measured: each is started for a file and then asked in turn, so that another load falls on all of them."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tests.benchmarks.lm import binding, programs
from tests.benchmarks.lm.plan import Plan
from tests.benchmarks.lm.programs import Programs
from tests.benchmarks.lm.results import OURS
from tests.benchmarks.process import Child

PROGRAMS, BINDING, SERVER = "llama.cpp", "llama-cpp-python", "llama-server"
Rates = dict[str, float] | None


class Contender(Protocol):
    """Tokens a second by what was done; None where it crashed."""

    name: str

    def single(self) -> Rates: ...
    def batched(self, counts: Sequence[int]) -> Rates: ...
    def close(self) -> None: ...


class Process:
    """One of our own children: Cloister, or the binding."""

    def __init__(self, name: str, module: str, arguments: list[str], environment: dict[str, str]) -> None:
        self.name, self._child = name, Child(f"lm.{module}", arguments, environment)
        self.ready = self._child.ready

    def single(self) -> Rates:
        found: Rates = self._child.ask(do="single")
        return found

    def batched(self, counts: Sequence[int]) -> Rates:
        found: Rates = self._child.ask(do="batched", counts=list(counts))
        return found

    def ask(self, **request: Any) -> Any:
        """Whatever else its module answers."""
        return self._child.ask(**request)

    def close(self) -> None:
        """End it."""
        self._child.close()


class LlamaPrograms:
    """llama-bench and llama-batched-bench."""

    name = PROGRAMS

    def __init__(self, path: Path, threads: int) -> None:
        self._programs = Programs(path, threads)

    def single(self) -> Rates:
        try:
            return self._programs.single()
        except (subprocess.SubprocessError, OSError):
            return None

    def batched(self, counts: Sequence[int]) -> Rates:
        try:
            return self._programs.batched(tuple(counts))
        except (subprocess.SubprocessError, OSError):
            return None

    def close(self) -> None:
        """Its processes have ended."""


def ours(path: Path, plan: Plan) -> Process:
    """Cloister with the threads and the instruction set of the plan."""
    environment = {"CLOISTER_THREADS": str(plan.threads), "CLOISTER_ISA": plan.isa, "OMP_NUM_THREADS": "1"}
    return Process(OURS, "ours", [str(path)], environment)


def bound(path: Path, plan: Plan) -> Process:
    """llama.cpp in Python."""
    return Process(BINDING, "binding", [str(path), str(plan.threads)], {})


def missing() -> list[str]:
    """Each peer that is not there, with the reason and what is not measured."""
    found = []
    for name, what in (("bench", "prompts and one sequence"), ("batched-bench", "many sequences"), ("server", "night")):
        if reason := programs.missing(name):
            found.append(f"llama-{name} ({what}): {reason}")
    if reason := binding.missing():
        found.append(f"llama-cpp-python (speeds, and errors of logits): {reason}")
    return found


@contextmanager
def started(path: Path, plan: Plan, skipped: list[str]) -> Iterator[list[Contender]]:
    """All that are there, for this file; those that did not start are `skipped`."""
    processes = [ours(path, plan)] + ([] if binding.missing() else [bound(path, plan)])
    others = (
        [] if programs.missing("bench") or programs.missing("batched-bench") else [LlamaPrograms(path, plan.threads)]
    )
    skipped += [f"{one.name} with {path.name}: it did not start" for one in processes if not one.ready]
    try:
        yield [*(one for one in processes if one.ready), *others]
    finally:
        for one in processes:
            one.close()
