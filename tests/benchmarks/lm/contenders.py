"""Who is measured: each is started for a file and then asked in turn, so that another load falls on all of them."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tests.benchmarks.lm import binding, openvino_files, programs
from tests.benchmarks.lm.plan import Plan
from tests.benchmarks.lm.programs import FOLDER, IK_FOLDER, Programs
from tests.benchmarks.lm.results import OURS, File
from tests.benchmarks.process import Child

PROGRAMS, BINDING, SERVER, IK, OPENVINO = "llama.cpp", "llama-cpp-python", "llama-server", "ik_llama.cpp", "OpenVINO"
Rates = dict[str, float] | None


class Contender(Protocol):
    """Tokens a second by what was done; None where it crashed."""

    name: str

    def single(self) -> Rates: ...
    def batched(self, counts: Sequence[int]) -> Rates: ...
    def close(self) -> None: ...


class Process:
    """One of our own children, Cloister or the binding: started when it is asked for the first time."""

    def __init__(self, name: str, module: str, arguments: list[str], environment: dict[str, str]) -> None:
        self.name, self._start, self._child = name, (f"lm.{module}", arguments, environment), None

    def single(self) -> Rates:
        found: Rates = self.ask(do="single")
        return found

    def batched(self, counts: Sequence[int]) -> Rates:
        found: Rates = self.ask(do="batched", counts=list(counts))
        return found

    def ask(self, **request: Any) -> Any:
        """Whatever its module answers; None if it crashed, or did not start."""
        if self._child is None:
            self._child = Child(*self._start)
        return self._child.ask(**request) if self._child.ready else None

    def close(self) -> None:
        """End it."""
        if self._child is not None:
            self._child.close()


class LlamaPrograms:
    """llama-bench and llama-batched-bench."""

    def __init__(self, name: str, path: Path, threads: int, variable: str) -> None:
        self.name, self._programs = name, Programs(path, threads, variable)

    def single(self) -> Rates:
        return self._rates(self._programs.single)

    def batched(self, counts: Sequence[int]) -> Rates:
        return self._rates(lambda: self._programs.batched(tuple(counts)))

    def _rates(self, measure: Callable[[], dict[str, float]]) -> Rates:
        try:
            return measure()
        except (subprocess.SubprocessError, OSError):
            return None

    def close(self) -> None:
        """Its processes have ended."""


def ours(path: Path, plan: Plan, threads: int) -> Process:
    """Cloister with the instruction set of the plan."""
    environment = {"CLOISTER_THREADS": str(threads), "CLOISTER_ISA": plan.isa, "OMP_NUM_THREADS": "1"}
    return Process(OURS, "ours", [str(path)], environment)


def bound(path: Path, threads: int) -> Process:
    """llama.cpp in Python."""
    return Process(BINDING, "binding", [str(path), str(threads)], {})


def openvino(file: File, threads: int) -> Process:
    """OpenVINO with its own model of this shape."""
    return Process(OPENVINO, "genai", [*file, str(threads)], {})


def missing() -> list[str]:
    """Each peer that is not there, with the reason and what is not measured."""
    found = []
    bindings = binding.missing()
    instead = "" if bindings else f"; {BINDING} is asked instead"
    for name, what, other in (
        ("bench", "prompts, one sequence, start", instead), ("batched-bench", "many sequences", instead),
        ("server", "the night, its memory", ""),
    ):  # fmt: skip
        if reason := programs.missing(name):
            found.append(f"llama-{name} ({what}): {reason}{other}")
    if bindings:
        found.append(f"{BINDING} (errors of logits; speeds where there are no programs): {bindings}")
    if reason := programs.missing("bench", IK_FOLDER) or programs.missing("batched-bench", IK_FOLDER):
        found.append(f"{IK} (prompts, one and many sequences): {reason}")
    if reason := openvino_files.missing():
        found.append(f"{OPENVINO} (prompts, one and many sequences): {reason}")
    return found


@contextmanager
def started(file: File, path: Path, plan: Plan, threads: int) -> Iterator[list[Contender]]:
    """Ours and the peers that there are, for this file; they end with the block."""
    own = ours(path, plan, threads)
    peers: list[Contender] = [
        LlamaPrograms(name, path, threads, variable)
        for name, variable in ((PROGRAMS, FOLDER), (IK, IK_FOLDER))
        if not programs.missing("bench", variable) and not programs.missing("batched-bench", variable)
    ]
    if not binding.missing() and (plan.both or PROGRAMS not in {one.name for one in peers}):
        peers.append(bound(path, threads))
    if not openvino_files.missing() and openvino_files.is_small_enough(file[0]):
        peers.append(openvino(file, threads))
    try:
        yield [own, *peers]
    finally:
        for one in (own, *peers):
            one.close()
