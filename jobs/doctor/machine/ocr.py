"""Text recognition: Tesseract, its languages against those that jobs ask for, and Pillow."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pipeline
from jobs.doctor.base import Figure, Figures, Finding, Needs, ok, stop, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"tesseract": same, "languages": same}
_INSTALL = "install the system's packages tesseract-ocr and tesseract-ocr-LANGUAGE"


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell the version and the languages, and which job asks for more."""
    found = pipeline.find_tesseract(())
    if isinstance(found, str):
        yield from _without(patient, found)
        return
    figures = {"tesseract": found.version, "languages": sorted(found.languages)}
    told = f"Tesseract {found.version} with {', '.join(sorted(found.languages))}"
    if find_spec("PIL") is None:
        remedy = "install Pillow, which requirements.lock pins (cloister[ocr])"
        yield warning(f"{told} reads scanned PDF files only, since Pillow is not installed.", remedy, **figures)
    else:
        yield ok(f"{told} reads scans.", **figures)
    for job, plan in patient.plans():
        lacking = [each for each in plan.input.ocr.languages if each not in found.languages]
        if plan.input.ocr.enabled and lacking:
            sentence = f"The job {job.name} asks for {', '.join(lacking)}, which Tesseract has not: its scans fail."
            yield stop(sentence, f"{_INSTALL}, or take it out of input.ocr.languages of the job")


def _without(patient: Patient, reason: str) -> Iterator[Finding]:
    figures: dict[str, Figure] = {"tesseract": None, "languages": []}
    asking = [job.name for job, plan in patient.plans() if plan.input.ocr.enabled and plan.input.ocr.languages]
    if asking:
        sentence = f"{reason}, but {', '.join(asking)} asks for languages of it: scans fail as needs_ocr."
        yield stop(sentence, f"{_INSTALL}, or write ocr: off under input: in the job", **figures)
    elif patient.jobs and not any(plan.input.ocr.enabled for _, plan in patient.plans()):
        yield ok(f"{reason}, and no job reads scans.", **figures)
    else:
        yield warning(f"{reason}: scans and pictures of text fail as needs_ocr.", _INSTALL, **figures)
