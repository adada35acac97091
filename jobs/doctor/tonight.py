"""What would stop the runs of this evening, for `cloister check` and `cloister status --check`: of the doctor's checks
those that are quick, and of what they find that because of which no run begins."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pipeline
from jobs.doctor import CHECKS
from jobs.doctor.base import Finding, stop
from jobs.doctor.examine import examine
from jobs.doctor.patient import Patient
from jobs.errors import user_name
from jobs.load import shown
from jobs.workspace import Workspace

_OF_ALL = ("processor", "sandbox", "ocr", "clock", "filesystem")
_OF_OWNER = ("permissions", "key", "encryption", "log")
"""These look at what the user who runs the jobs may do, which others can only ask him."""


def hindrances(place: Workspace) -> Iterator[Finding]:
    """Yield what would stop all runs; what others than the owner of the workspace cannot see is passed over
    (`unseen`)."""
    names = _OF_ALL if unseen(place) else (*_OF_ALL, *_OF_OWNER)
    patient = Patient(place.root, place, is_brief=True)
    found = examine(patient, {name: check for name, check in CHECKS.items() if name in names})
    yield from (each.finding for each in found if each.finding.stops)
    cluster = next((plan.cluster for _, plan in patient.plans() if plan.cluster), None)
    if cluster is not None and not unseen(place):
        try:
            pipeline.read_credential(cluster.credential, pipeline.HEAD_ROLE)
        except pipeline.MachineRefusedError as error:
            told, _, remedy = str(error).rpartition("; ")
            yield stop(f"{told or remedy}.", remedy if told else "cloister cluster up makes credentials")


def unseen(place: Workspace) -> str | None:
    """Why the rights on the workspace, its keys and its log were not looked at; None where they were."""
    owner = place.root.stat().st_uid
    if owner == os.geteuid():
        return None
    return f"rights, keys and log of {shown(place.root)} were not looked at: {user_name(owner)} would run its jobs"
