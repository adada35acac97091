"""The audit log: it opens, and it is what its key signed; of a long one, its end. `cloister audit verify` checks all
of it, and holds results and documents against it."""

from __future__ import annotations

from collections.abc import Iterator

import audit
from jobs.doctor.base import Figures, Finding, Needs, ok, problem
from jobs.doctor.compared import fewer
from jobs.doctor.patient import Patient
from jobs.load import shown
from jobs.lock import holder

NEEDS = Needs.SITE
FIGURES: Figures = {"entries": fewer}


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell whether a run could open the log, without opening it."""
    site = patient.site
    lock = site.audit / "lock"
    try:
        size = audit.check_tail(site.audit, site.public_key).size
        whole = patient.register is not None
    except audit.LogUntrusted as error:
        remedy = "change nothing by hand: OPERATING.md (The log cannot be trusted) says what to do, step by step"
        yield problem(f"The log cannot be trusted: {error.where}: {error.message}.", remedy)
        return
    except audit.AuditError as error:
        yield problem(f"The log cannot be read: {error}.", "let the user who runs Cloister read and write audit/")
        return
    if not lock.is_file():
        yield problem(f"{shown(lock)} is missing, so no run can begin.", f"touch {shown(lock)}", entries=size)
        return
    held = f" Process {pid} writes to it." if (pid := holder(lock)) else ""
    rest = "results and documents" if whole else "all of them"
    signed = "all as they were signed" if whole else "whose end is as it was signed"
    yield ok(f"{size:,} entries, {signed}; cloister audit verify checks {rest} too.{held}", entries=size)
