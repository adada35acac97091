"""The job files: whether each can be planned, and its model is there and may be used. `cloister check` looks closer, at
each model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import audit
import pipeline
from jobs.doctor.base import Figures, Finding, Needs, found_or, problem, warning
from jobs.doctor.compared import same
from jobs.doctor.faults import of_problems
from jobs.doctor.patient import Patient
from jobs.errors import ConfigError
from jobs.load import load_job, shown
from jobs.plan import refusal_of
from jobs.visible import one_line
from jobs.workspace import job_files_in

NEEDS = Needs.FOLDER
FIGURES: Figures = {"jobs": same}


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell what is wrong with each job."""
    files = job_files_in(patient.place)
    found = [finding for path in files for finding in _of_job(patient, path)]
    if patient.workspace is not None:
        for path in patient.workspace.other_files():
            found.append(warning(f"{shown(path)} is no job: job files end in .yaml.", "rename it, or move it away"))
        found += _unread(patient, files)
        found += _unseen(patient)
    yield from found_or(found, _in_order(len(files), patient), jobs=[path.stem for path in files])


def _unread(patient: Patient, files: Sequence[Path]) -> Iterator[Finding]:
    """Tell what lies in inbox/ where no job looks. A job that cannot be planned is taken to read its usual folder."""
    inbox = patient.place.resolve() / "inbox"
    read = {inbox / path.stem for path in files} | {plan.input.folder.resolve() for _, plan in patient.plans()}
    if not os.access(inbox, os.R_OK | os.X_OK, effective_ids=True) or not inbox.is_dir():
        return  # whoever may not look there need not know
    for path in sorted(inbox.iterdir()):
        if path.name.startswith(".") or any(path == each or path in each.parents or inbox == each for each in read):
            continue
        if path.is_file() or next((each for each in path.rglob("*") if each.is_file()), None):
            where = shown(patient.place / "inbox" / path.name)
            yield warning(f"{where} lies there, and no job reads it.", "move it into the folder of a job")


def _unseen(patient: Patient) -> Iterator[Finding]:
    """Tell of input folders in which another machine may still write to a file that is taken."""
    for job, plan in patient.plans():
        if kind := pipeline.shared_with(plan.input.folder, patient.root / "proc/self/mountinfo"):
            sentence = f"{job.name}: {shown(plan.input.folder)} lies on {kind}, where nobody sees another machine write"
            seconds = f"files are taken when they were still for {plan.input.settle_seconds:g} s"
            remedy = "let whole files be renamed into it, or put _READY or manifest.sha256 there last"
            yield warning(f"{sentence}: {seconds}.", remedy)


def _in_order(number: int, patient: Patient) -> str:
    if not number:
        return "There is no job."
    jobs, models = ("1 job", "its model is") if number == 1 else (f"{number:,} jobs", "their models are")
    return f"{jobs} can be planned, and {models} there." if patient.workspace else f"{jobs} can be read."


def _of_job(patient: Patient, path: Path) -> Iterator[Finding]:
    try:
        planned = patient.jobs[path] if patient.workspace else load_job(path)
        if isinstance(planned, Exception):
            raise planned
        if isinstance(planned, tuple) and (refused := _refusal(patient, planned[1])):
            yield problem(f"{path.stem}: {one_line(refused)}.", "cloister check tells all that is wrong with a job")
    except ConfigError as error:
        yield from of_problems(error)
    except OSError as error:
        yield problem(f"{shown(path)}: {error.filename}: {error.strerror}.", "let the user who runs Cloister read it")


def _refusal(patient: Patient, plan: pipeline.RunPlan) -> str | None:
    """Why the model would be refused; by the log too, unless it cannot be read, which its own check tells."""
    try:
        return refusal_of(plan, patient.register)
    except audit.AuditError:
        return refusal_of(plan, None)
