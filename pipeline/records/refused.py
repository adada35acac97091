"""What the log says of a run that did not begin because its model, or the machine, was refused."""

import contextlib

import audit
from pipeline.errors import MachineRefusedError, ModelRefusedError
from pipeline.plan import RunPlan, Site
from pipeline.records.entries import read_entries
from pipeline.records.journal import Journal, cut_record, open_journal
from pipeline.records.nights import Entry, is_told

_LOOKED_AT = 1_000  # entries, back from the last one


def log_refused(plan: RunPlan, run: str, error: ModelRefusedError | MachineRefusedError) -> None:
    """Log the refusal, once in a night while it stays the same. The run has let the log go. Never raises for a log."""
    reason = str(error).replace(f"{plan.site.root}/", "")
    record = {"type": "run.refused", "job": plan.job, "model": plan.model.name, "reason": reason}
    with contextlib.suppress(OSError, audit.AuditError), open_journal(plan.site) as log:
        cut = [{"run": run, "job": plan.job, **each} for each in cut_record(log)]
        if cut or not is_told(_last_refusal(plan.site, plan.job, log), record):
            log.commit([*cut, {**record, "run": run}])


def _last_refusal(site: Site, job: str, log: Journal) -> Entry | None:
    """The entry of the job's last run, if that was refused."""
    last: Entry | None = None
    for _, entry in read_entries(site, max(0, log.next_index - _LOOKED_AT)):
        if str(entry["type"]).startswith("run.") and entry["job"] == job:
            last = entry
    return last if last and last["type"] == "run.refused" else None
