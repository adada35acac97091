"""How fast a model is on this machine, and what it makes of the machine.

The number of threads belongs to a process, so each is measured in a child of its own (`bench_child.py`).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import engine
from pipeline.answer.models import check_machine, inspect_model
from pipeline.errors import MachineRefusedError, ModelRefusedError

LENGTHS = (32, 128, 256, 512)
PASS_TOKENS = 128
LEAST_TOKENS = 8
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Speed:
    """Texts of one length, tokenizing included."""

    threads: int
    tokens: int
    texts_per_second: float
    tokens_per_second: float


@dataclass(frozen=True)
class Ceiling:
    """The ceilings that all threads together reach: integer multiply-adds on registers, bytes read from memory."""

    threads: int
    multiply_adds_per_second: float
    read_bytes_per_second: float


@dataclass(frozen=True)
class Operation:
    """A part of the forward pass of one text of `tokens` tokens. Shares are of `Ceiling`; None in float32.

    `executed` are the multiply-adds that the instruction set takes for the `multiply_adds` of the result: where it
    multiplies bytes it multiplies each digit of an activation by itself, and blocks are padded.
    """

    threads: int
    tokens: int
    name: str
    seconds: float
    multiply_adds: int
    executed: int
    read_bytes: int
    share_of_peak: float | None
    useful_share_of_peak: float | None
    share_of_bandwidth: float


@dataclass(frozen=True)
class Start:
    """Seconds from the start of the process to the first vector, kernels compiled before, and its own memory."""

    threads: int
    seconds: float
    load_seconds: float
    own_bytes: int


@dataclass(frozen=True)
class Bench:
    """The measurements of a model."""

    model: dict[str, Any]
    engine: dict[str, Any]
    numerics: str
    cpus: int
    speeds: tuple[Speed, ...]
    ceilings: tuple[Ceiling, ...]
    operations: tuple[Operation, ...]
    starts: tuple[Start, ...]


def lengths(path: Path, asked: Sequence[int] | None) -> tuple[int, ...]:
    """The lengths to measure: those that are asked for, else of LENGTHS what the model takes, else all it takes.

    Raises ValueError, which says what is expected, for one that the model does not take; ModelRefusedError.
    """
    context = inspect_model(path)["context"] or LENGTHS[-1]
    for tokens in asked or ():
        if not LEAST_TOKENS <= tokens <= context:
            raise ValueError(f"numbers from {LEAST_TOKENS} to {context}, the model's context")
    return tuple(asked or [tokens for tokens in LENGTHS if tokens <= context] or [context])


def bench_model(
    path: Path, tokens: Sequence[int] | None, threads: Sequence[int] | None, seconds: float, progress: Progress
) -> Bench:
    """Measure texts of each length with each number of threads, `seconds` for each measurement.

    Raises ModelRefusedError, MachineRefusedError, and ValueError as `lengths` does.
    """
    check_machine()
    sizes, counts = lengths(path, tokens), threads or sorted({1, engine.threads()})
    steps = 1 + len(counts) * (len(sizes) + 2)
    done = 0

    def tell(at: str) -> None:
        nonlocal done
        done += 1
        progress(done, steps, at)

    progress(0, steps, "kernels and weights are made ready")
    ready = _measure(path, counts[0], (), 0.0, lambda at: progress(0, steps, at))
    tell("ready")
    answers = [_measure(path, count, sizes, seconds, tell) for count in counts]
    facts = inspect_model(path)
    return Bench(
        model={name: facts[name] for name in ("name", "architecture", "parameters", "size", "sha256")},
        engine={name: value for name, value in ready["engine"].items() if name != "threads"},
        numerics=ready["numerics"],
        cpus=len(os.sched_getaffinity(0)),
        speeds=tuple(Speed(**each) for answer in answers for each in answer["speeds"]),
        ceilings=tuple(Ceiling(**answer["ceiling"]) for answer in answers),
        operations=tuple(Operation(**each) for answer in answers for each in answer["operations"]),
        starts=tuple(Start(**answer["start"]) for answer in answers),
    )


def to_json(found: Bench) -> dict[str, Any]:
    """The measurements as one JSON document."""
    return asdict(found)


def _measure(
    path: Path, threads: int, tokens: Sequence[int], seconds: float, tell: Callable[[str], None]
) -> dict[str, Any]:
    for line in _child(path, threads, tokens, seconds):
        if "refused" in line:
            raise ModelRefusedError(line["refused"])
        if "machine" in line:
            raise MachineRefusedError(line["machine"])
        if "measured" in line:
            measured: dict[str, Any] = line["measured"]
            return measured
        tell(f"{line['at']}, {threads} thread{'s' * (threads > 1)}")
    raise AssertionError("a child that ends well has answered")


def _child(path: Path, threads: int, tokens: Sequence[int], seconds: float) -> Iterator[dict[str, Any]]:
    """The lines that a child writes. RuntimeError where it ends badly."""
    with tempfile.TemporaryFile() as errors:
        request = {"model": str(path.absolute()), "tokens": tokens, "seconds": seconds, "began": time.monotonic()}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "pipeline.bench.child", json.dumps(request)], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
            env=os.environ | {"CLOISTER_THREADS": str(threads)},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            yield from map(json.loads, process.stdout)
            if process.wait() != 0:
                errors.seek(0)
                raise RuntimeError(f"measuring ended with {process.returncode}: {errors.read()[-2000:]!r}")
        finally:
            process.kill()
            process.communicate()
