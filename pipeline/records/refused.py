"""A run that does not begin because its model, or the machine, is refused is told of in the log."""

import contextlib

import audit
from pipeline.errors import MachineRefusedError, ModelRefusedError
from pipeline.plan import RunPlan, Site
from pipeline.records.entries import read_entries
from pipeline.records.journal import Journal, cut_record, open_journal
from pipeline.records.nights import is_told
from pipeline.records.types import Record, RunRefused

_LOOKED_AT = 1_000  # entries, back from the last one


def log_refused(plan: RunPlan, run: str, error: ModelRefusedError | MachineRefusedError) -> None:
    """Log the refusal, once in a night while it stays the same. The run has let the log go. Never raises for a log."""
    reason = str(error).replace(f"{plan.site.root}/", "")
    refused = RunRefused(run=run, job=plan.job, model=plan.model.name, reason=reason)
    with contextlib.suppress(OSError, audit.AuditError), open_journal(plan.site) as log:
        cut = [each.made_by(run, plan.job) for each in cut_record(log)]
        if cut or not is_told(_last_of_run(plan.site, plan.job, log), refused):
            log.commit([*cut, refused])


def _last_of_run(site: Site, job: str, log: Journal) -> Record | None:
    """The last entry that says how a run of the job began or ended."""
    entries = read_entries(site, max(0, log.next_index - _LOOKED_AT))
    last: Record | None = None
    for entry in entries:
        if entry.type.startswith("run.") and entry.job == job:
            last = entry
    return last
