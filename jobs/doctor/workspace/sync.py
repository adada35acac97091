"""The sync latency of the log's disk, measured: how long a commit waits until the disk says that it has everything."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from jobs.doctor.base import Figures, Finding, Needs, ok, warning
from jobs.doctor.compared import slower
from jobs.doctor.patient import Patient
from jobs.load import shown

NEEDS = Needs.FOLDER
FIGURES: Figures = {"median_ms": slower(2, 0.5), "worst_ms": slower(5, 100)}
_ROUNDS = 40
_SECONDS = 4.0
_BYTES = 4096
SYNCS = 5
"""The syncs of a commit of some entries: their segment, a tile and its folder, the checkpoint and its folder
(audit/log.py)."""
_SLOW_MS = 20.0
_WORST_MS = 2_000.0
_TOO_FAST_MS = 0.01
"""No disk has a block in so short a time: what answers so has only taken note."""


def examine(patient: Patient) -> Iterator[Finding]:
    """Measure, and tell the median and the worst with what they mean."""
    yield judged(measure(patient.place), patient.place)


def measure(folder: Path) -> list[float]:
    """Milliseconds of fsync after appending a block, many times, on the file system of the log of a workspace. The file
    lies beside the log, and without a name in its folder where that is another file system. OSError."""
    audit, state = folder / "audit", folder / "state"
    device = audit.stat().st_dev
    beside = next((each for each in (state, folder) if each.is_dir() and each.stat().st_dev == device), None)
    if beside is None:
        fd = os.open(audit, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb", buffering=0) as file:
            return _measure(file.fileno())
    with tempfile.NamedTemporaryFile(prefix=".doctor-", dir=beside, buffering=0) as named:
        return _measure(named.fileno())


def _measure(fd: int) -> list[float]:
    taken: list[float] = []
    end = time.monotonic() + _SECONDS
    while len(taken) < _ROUNDS and (not taken or time.monotonic() < end):
        os.write(fd, bytes(_BYTES))
        start = time.perf_counter()
        os.fsync(fd)
        taken.append((time.perf_counter() - start) * 1e3)
    return taken


def judged(taken: list[float], folder: Path) -> Finding:
    """What the milliseconds of syncs mean for the commits of a log."""
    middle, worst = median(taken), max(taken)
    figures = {"median_ms": round(middle, 3), "worst_ms": round(worst, 3)}
    told = f"A sync on the disk of {shown(folder / 'audit')} takes {middle:.2f} ms (median of {len(taken)}), at worst "
    told += f"{worst:.2f} ms; a commit has about {SYNCS} of them, {middle * SYNCS:.0f} ms"
    if middle < _TOO_FAST_MS:
        sentence = f"{told}. That is faster than any disk: a commit that is told as done may be lost at a power cut."
        remedy = "keep the log on a disk that honours fsync (not in memory, nor with eatmydata or cache=unsafe)"
        return warning(sentence, remedy, **figures)
    if middle > _SLOW_MS or worst > _WORST_MS:
        remedy = "keep the log on an SSD, or let other work on this disk pause at night; larger parts commit less often"
        return warning(f"{told}. Commits are slow here.", f"{remedy} (output.part_documents)", **figures)
    return ok(f"{told}.", **figures)
