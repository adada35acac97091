"""Room on the disks of the workspace, and on that of the engine's cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from jobs.doctor.base import Figures, Finding, Needs, found_or, problem, shown_bytes, warning
from jobs.doctor.compared import less_bytes
from jobs.doctor.patient import Patient
from jobs.nights.calls.needs import disks_of, is_nearly_full

NEEDS = Needs.MACHINE
FIGURES: Figures = {"total": less_bytes(0.02)}
_FILES = 10_000


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell each disk that is nearly full, of bytes or of files; or how much room there is."""
    disks = list(disks_of(patient.folder)) if patient.folder else []
    found = [finding for folder in disks for finding in _of_disk(folder)]
    found += _of_cache(patient.machine.kernels.parent, {folder.stat().st_dev for folder in disks})
    first = disks[0] if disks else patient.machine.kernels.parent
    usage = shutil.disk_usage(first)
    told = f"{shown_bytes(usage.free)} of {shown_bytes(usage.total)} are free on the disk of {first}."
    yield from found_or(found, told, total=usage.total)


def _of_disk(folder: Path) -> Iterator[Finding]:
    usage, files = shutil.disk_usage(folder), os.statvfs(folder)
    if is_nearly_full(usage.total, usage.free):
        sentence = f"The disk of {folder} is nearly full: {shown_bytes(usage.free)} are free."
        yield problem(sentence, "make room, or let retention: in jobs delete what need not be kept")
    if files.f_files and files.f_favail < _FILES:
        sentence = f"The disk of {folder} has room for {files.f_favail:,} more files only."
        yield problem(sentence, "remove files, or make the file system anew with more inodes")


def _of_cache(cache: Path, others: set[int]) -> Iterator[Finding]:
    """The disk of the engine's cache, unless it is one of the workspace's."""
    usage = shutil.disk_usage(cache)
    if cache.stat().st_dev not in others and is_nearly_full(usage.total, usage.free):
        sentence = f"The disk of the engine's cache {cache} is nearly full: {shown_bytes(usage.free)} are free."
        yield warning(
            sentence, "make room: weights are kept there once more, as they are computed; or set CLOISTER_CACHE"
        )
