"""Find what a rerun takes: archived documents, in the order in which their current rows were made."""

from dataclasses import replace

import audit
from pipeline.answer.heads import with_head
from pipeline.answer.models import check_model, writing_of
from pipeline.inbox.discover import Scan
from pipeline.inbox.find import Found
from pipeline.plan import RunPlan
from pipeline.records.admissions import check_admitted
from pipeline.records.history import History
from pipeline.records.index import history_of
from pipeline.records.settings import job_digest
from pipeline.report import Observer
from pipeline.rerun.choose import Rechosen, choose


def find_archived(plan: RunPlan, history: History, digest: str, model_sha256: str, observer: Observer) -> Found:
    """The archived documents that the plan asks for. What is left is among the ignored of the scan, with the reason.
    audit.AuditError, OSError."""
    choice = choose(plan, digest, model_sha256, history.rerun)
    if choice.told.continued:
        observer.note("goes on with the rerun that was cut off")
    return Found(Scan((), (), (), choice.left), choice.sources, choice.asked, choice.told)


def foresee_rerun(plan: RunPlan) -> Rechosen:
    """What a rerun would take now. Nothing is answered or recorded, and the log need not be held. Raises what the run
    would raise for its model; audit.AuditError, OSError."""
    model_sha256 = check_model(plan)
    plan = replace(with_head(plan, model_sha256), writing=writing_of(plan))
    size = audit.read_checkpoint(plan.site.audit, plan.site.public_key).size
    history = history_of(plan.site, size, plan.job)
    check_admitted(plan.site, replace(plan.model, sha256=model_sha256), history.register.admissions)
    return choose(plan, job_digest(plan, model_sha256), model_sha256, history.rerun)
