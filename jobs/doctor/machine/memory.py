"""The memory of the machine, or of the cgroup above this process, against what the jobs take at most."""

from __future__ import annotations

from collections.abc import Iterator

import pipeline
from jobs.doctor.base import Figures, Finding, Needs, ok, problem, shown_bytes, warning
from jobs.doctor.compared import less_bytes
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"bytes": less_bytes(0.05)}


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell how much memory there is, and of which job it is too little."""
    total, free = patient.machine.memory, patient.machine.free
    if not total:
        yield warning("How much memory there is cannot be read.", "let this process read /proc/meminfo")
        return
    here = f"{shown_bytes(total)} of memory may be used, {shown_bytes(free)} of it now"
    needs = sorted(_needs(patient), key=lambda each: -(each[1] + each[2]))
    if not needs:
        yield ok(f"{here}; there is no job to hold that against.", bytes=total)
        return
    job, model, parsers = needs[0]
    told = f"{here}; the job {job} takes {shown_bytes(model)} at most, and {shown_bytes(parsers)} for parsers"
    if model > total:
        remedy = "take a smaller model (cloister model quantize), lower model.cache_mib, or allow more memory"
        yield problem(f"{told}: its model alone does not fit.", remedy, bytes=total)
    elif model + parsers > total:
        remedy = "lower limits.parse_memory_mib in site.yaml, set CLOISTER_THREADS to less, or allow more memory"
        yield warning(f"{told}: large documents may end what runs beside them.", remedy, bytes=total)
    elif model > free:
        yield warning(f"{told}: something else has the memory now.", "end that before the night", bytes=total)
    else:
        yield ok(f"{told}.", bytes=total)


def _needs(patient: Patient) -> Iterator[tuple[str, int, int]]:
    """Each job with the bytes that its model and texts take, and those that its parsers may take together. The check
    of the jobs tells of models that are not there."""
    for job, plan in patient.plans():
        try:
            memory = pipeline.memory_of(plan)
        except (pipeline.ModelRefusedError, OSError):
            continue
        yield job.name, memory.model + memory.texts + (memory.cache or 0), memory.parsers
