"""What holds the parsers of documents on this kernel: one is started and asked what is in force."""

from __future__ import annotations

from collections.abc import Iterator

import pipeline
from jobs.doctor.base import Figures, Finding, Needs, ok, stop, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"lacking": same}
_REMEDY = "give it that (to a container, in its seccomp profile)"


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell which protections are in force, and what depends on those that are not."""
    site = patient.site if patient.workspace else None
    found = pipeline.protections_here(site.limits if site else pipeline.Limits())
    lacking = [each for each in found if not each.in_force]
    figures = {"lacking": [each.name for each in lacking]}
    if not lacking:
        yield ok(f"All {len(found)} protections that hold the parsers of documents are in force.", **figures)
        return
    needed = "; ".join(f"{each.name} needs {each.needs}" for each in lacking)
    sentence = f"{len(found) - len(lacking)} of {len(found)} protections of the parsers are in force: {needed}."
    if any(each.for_parsers for each in lacking) and site is not None and site.isolation != "required":
        sentence += " Documents are read all the same, since site.yaml says isolation: best_effort."
        yield warning(sentence, f"{_REMEDY}, and write isolation: required", **figures)
    elif any(each.for_parsers for each in lacking):
        remedy = f"{_REMEDY}; or, where documents are trusted, write isolation: best_effort under limits: in site.yaml"
        yield stop(f"{sentence} No document is read.", remedy, **figures)
    elif any(each.for_programs for each in lacking):
        yield warning(f"{sentence} Parsers are held, but Tesseract is not started.", _REMEDY, **figures)
    else:
        yield warning(f"{sentence} Parsers are held; this would be a second line.", f"{_REMEDY}, if you can", **figures)
