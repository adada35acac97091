"""site.yaml: whether it can be read, and says what is consistent in itself."""

from __future__ import annotations

from collections.abc import Iterator

from jobs.doctor.base import Figures, Finding, Needs, ok, problem
from jobs.doctor.compared import same
from jobs.doctor.faults import of_problems
from jobs.doctor.patient import Patient

NEEDS = Needs.FOLDER
FIGURES: Figures = {"origin": same}
_REST = "What depends on site.yaml (models of jobs, key and log) was not looked at."


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell the mistakes of the file, and what could not be looked at for them."""
    if patient.workspace is not None:
        origin = patient.workspace.site.log.origin
        yield ok(f"site.yaml can be read; the log is {origin}.", origin=origin)
        return
    assert patient.wrong is not None
    yield from of_problems(patient.wrong)
    yield problem(_REST, "mend that first, and give the command again")
