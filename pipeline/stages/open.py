"""Open a run: the log is held, the model file checked, what an interrupted run left is redone or undone."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pipeline.answer.heads import with_head
from pipeline.answer.machine import give_back_freed
from pipeline.answer.models import check_machine, check_model, writing_of
from pipeline.atrest.errors import NoKeyError
from pipeline.errors import MachineRefusedError
from pipeline.inbox.find import check_inbox
from pipeline.keep.retention import Shelf
from pipeline.outbox.commit import Committer
from pipeline.outbox.outputs import begun_before
from pipeline.outbox.recover import describe, recover
from pipeline.outbox.running import announced
from pipeline.outbox.space import hold_reserve
from pipeline.plan import RunPlan, Site
from pipeline.quality.gate import refuse_unqualified
from pipeline.records.entries import fold, read_entries
from pipeline.records.history import History
from pipeline.records.index import job_history
from pipeline.records.journal import open_journal
from pipeline.records.private import refuse_open
from pipeline.records.register import check_admitted
from pipeline.records.settings import job_digest
from pipeline.records.types import Record
from pipeline.report import Observer
from pipeline.reports.nightly import Nightly
from pipeline.review.uptake import Uptake


@dataclass(frozen=True)
class Opened:
    """A run that holds the log. `recovered`: the records of what was redone and undone, which are not committed yet;
    `lost`: (document, path) of batch files whose rows are gone -> which rows; `uptake`: takes up what people decide
    meanwhile; `begun`: what `timer` said at its start.
    """

    plan: RunPlan
    job_digest: str
    model_sha256: str
    history: History
    shelf: Shelf
    recovered: list[Record]
    lost: dict[Any, str]
    committer: Committer
    uptake: Uptake
    nightly: Nightly
    observer: Observer
    begun: float
    timer: Callable[[], float]

    def take_up(self) -> None:
        """Take up what people decided on rows, of any job."""
        taken = self.uptake.take()
        if taken.rows or taken.refused:
            self.observer.note("decisions taken up", rows=len(taken.rows), refused=len(taken.refused))

    @property
    def is_after_a_crash(self) -> bool:
        """Whether the run before was cut off, or left something to do again."""
        return bool(self.recovered or self.history.cut_off)


@contextlib.contextmanager
def open_run(plan: RunPlan, name: str, observer: Observer, timer: Callable[[], float]) -> Iterator[Opened]:
    """Open the run `name`, which holds the log as long as the context lasts.

    Raises audit.AuditError, MachineRefusedError, ModelRefusedError and OSError.
    """
    begun, site = timer(), plan.site
    check_machine()
    give_back_freed()
    with open_journal(site) as log, announced(plan, name, observer) as observer:
        hold_reserve(site)
        if plan.private:
            refuse_open(site.root)
        _check_key(site)
        model_sha256 = check_model(plan)
        plan = replace(with_head(plan, model_sha256), writing=writing_of(plan))
        digest, shelf = job_digest(plan, model_sha256), Shelf(plan.job)
        history = _history(plan, digest, log.next_index, shelf)
        refuse_unqualified(plan, history.qualified)
        check_admitted(site, replace(plan.model, sha256=model_sha256), history.register.admissions)
        recovered = recover(site, log, history)
        _tell(recovered, history, observer)
        if plan.rerun:  # nothing comes from the input folder, and nothing there is touched
            plan = replace(plan, input=replace(plan.input, afterwards="keep"))
        check_inbox(plan.input)
        outputs = begun_before(plan, history, digest, observer) if plan.is_batch else None
        lost = dict(outputs.lost) if outputs else {}
        committer = Committer(plan, log, name, history.last, outputs=outputs)
        uptake, nightly = Uptake(site, log, {plan.job: history}), Nightly(plan, name, history)
        yield Opened(
            plan, digest, model_sha256, history, shelf, recovered, lost, committer,
            uptake=uptake, nightly=nightly, observer=observer, begun=begun, timer=timer,
        )  # fmt: skip


def _check_key(site: Site) -> None:
    """MachineRefusedError where what is kept of documents would be encrypted, and the key is not to be had."""
    try:
        site.at_rest.check()
    except NoKeyError as error:
        raise MachineRefusedError(error.sentence) from error


def _history(plan: RunPlan, digest: str, size: int, shelf: Shelf) -> History:
    """Read what the log says of the job: all entries where rules of retention need their times, else by the index."""
    if plan.retention.ends:
        return fold(read_entries(plan.site), History(job=plan.job, job_digest=digest), shelf)
    return job_history(plan.site, size, plan.job, digest)


def _tell(recovered: list[Record], history: History, observer: Observer) -> None:
    if recovered or history.cut_off:
        observer.note("recovered", what=describe(recovered, history.cut_off))
    if history.closed:
        observer.note("entries of private jobs that nothing in private/ opens", entries=len(history.closed))
