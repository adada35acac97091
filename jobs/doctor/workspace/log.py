"""The audit log: it opens, and it is what its key signed; of a long one, its end. `cloister audit verify` checks all
of it, and holds results and documents against it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import audit
from jobs.doctor.base import Figures, Finding, Needs, ok, stop
from jobs.doctor.compared import fewer
from jobs.doctor.patient import Patient
from jobs.errors import remedy_of
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
        yield stop(f"The log cannot be trusted: {error.where}: {error.message}.", remedy)
        return
    except audit.AuditError as error:
        right = remedy_of(error.__cause__) if isinstance(error.__cause__, OSError) else None
        yield stop(f"The log cannot be read: {error}.", right or "let the user who runs Cloister read and write audit/")
        return
    if not lock.is_file():
        yield stop(f"{shown(lock)} is missing, so no run can begin.", f"touch {shown(lock)}", entries=size)
        return
    if barred := next(filter(None, map(audit.how_to_reach, _written(site.audit))), None):
        yield stop(f"This user may not write to {shown(site.audit)}/, so no run can begin.", barred, entries=size)
        return
    held = f" Process {pid} writes to it." if (pid := holder(lock)) else ""
    rest = "results and documents" if whole else "all of them"
    signed = "all as they were signed" if whole else "whose end is as it was signed"
    yield ok(f"{size:,} entries, {signed}; cloister audit verify checks {rest} too.{held}", entries=size)


def _written(log: Path) -> Iterator[Path]:
    """What of the log a commit opens or makes files in."""
    yield from (log, log / "lock", log / "entries", log / "tile")
    yield from sorted((log / "entries").glob("*.jsonl"))[-1:]
