"""Limits of the operating system on a process (getrlimit(2)), where they are lower than a run needs."""

from __future__ import annotations

import resource
from collections.abc import Iterator

from jobs.doctor.base import Figures, Finding, Needs, found_or, problem, shown_bytes, warning
from jobs.doctor.compared import fewer
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"open_files": fewer}
_FILES_NEEDED = 256
_FILES_WANTED = 1024
_PROCESSES = 256
_FILE_BYTES = 8 << 30
"""What a model file may easily have."""


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell each limit that is too low, or that none is."""
    files = _soft(resource.RLIMIT_NOFILE)
    found = [*_open_files(files), *_others(patient)]
    told = f"No limit on a process is in the way; it may open {_shown(files)}."
    yield from found_or(found, told, open_files=files)


def _open_files(files: int | None) -> Iterator[Finding]:
    if files is None or files >= _FILES_WANTED:
        return
    sentence = f"A process may open {files} files; runs and the console need up to {_FILES_WANTED:,}."
    remedy = f"raise it: ulimit -n {_FILES_WANTED}, or LimitNOFILE={_FILES_WANTED} in the unit"
    yield problem(sentence, remedy) if files < _FILES_NEEDED else warning(sentence, remedy)


def _others(patient: Patient) -> Iterator[Finding]:
    space, memory = _soft(resource.RLIMIT_AS), patient.machine.memory
    if space is not None and space < memory:
        sentence = f"A process may have {shown_bytes(space)} of addresses; model files are mapped, and need them."
        yield problem(sentence, "lift it: ulimit -v unlimited; limit memory by a cgroup instead (MemoryMax=)")
    size = _soft(resource.RLIMIT_FSIZE)
    if size is not None and size < _FILE_BYTES:
        sentence = f"A process may write files of {shown_bytes(size)} at most; models and their weights are larger."
        yield problem(sentence, "lift it: ulimit -f unlimited, or LimitFSIZE=infinity in the unit")
    processes = _soft(resource.RLIMIT_NPROC)
    if processes is not None and processes < _PROCESSES:
        sentence = f"This user may have {processes} processes and threads; each parser and thread of a run is one."
        yield warning(sentence, f"raise it: ulimit -u {_PROCESSES}, or LimitNPROC={_PROCESSES} in the unit")
    if _soft(resource.RLIMIT_CORE) != 0:
        sentence = "A process that crashes leaves a dump of its memory, with texts of documents."
        yield warning(sentence, "forbid it: ulimit -c 0, or LimitCORE=0 in the unit")


def _soft(which: int) -> int | None:
    """The limit in force; None for none."""
    soft, _ = resource.getrlimit(which)
    return None if soft == resource.RLIM_INFINITY else soft


def _shown(files: int | None) -> str:
    return "any number of files" if files is None else f"{files:,} files"
