"""The engine's compiled kernels: whether they are there for this processor and version, and safe where they lie."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pipeline
from jobs.doctor.base import Figures, Finding, Needs, ok, problem, warning
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {}
_TAKES = "10 to 40 seconds on idle CPUs"


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell what the first run of each model will have to compile."""
    machine = patient.machine
    if not machine.kept:
        sentence = f"Compiled kernels cannot be kept, so each process compiles them anew ({_TAKES})."
        remedy = "set CLOISTER_CACHE to a folder that the user who runs Cloister may write to"
        yield warning(sentence, remedy)
        return
    cache = machine.kernels.parent
    for folder in (cache, machine.kernels):
        status = folder.stat()
        if status.st_mode & 0o022 or status.st_uid not in (os.geteuid(), 0):
            sentence = f"Others may write to {folder}, and what lies there is executed."
            yield problem(sentence, f"chmod go-w {folder}, or chown it to the user who runs Cloister")
            return
    compiled, missing = _kernels(patient)
    if missing:
        names = ", ".join(missing)
        yield ok(f"The first run compiles kernels for {names}, which takes {_TAKES}; they are then kept in {cache}.")
    elif compiled:
        yield ok(f"The kernels of all jobs are compiled for this processor and version, in {cache}.")
    else:
        yield ok(f"The first run of a model compiles its kernels, which takes {_TAKES}; they are kept in {cache}.")


def _kernels(patient: Patient) -> tuple[list[str], list[str]]:
    """The jobs whose kernels are compiled, and those of which they are not."""
    found: tuple[list[str], list[str]] = ([], [])
    for job, plan in patient.plans():
        try:
            _, compiled = pipeline.kernels_of(plan.model.path)
        except (pipeline.ModelRefusedError, OSError):  # which the check of the jobs tells
            continue
        found[not compiled].append(job.name)
    return found
