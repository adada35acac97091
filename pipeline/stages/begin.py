"""Begin a run: parsers and model are there, the first entry is in the log, and what is kept no longer is deleted."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import audit
import engine
from pipeline.answer.compute import Answers
from pipeline.answer.models import Loaded, answerer, load_model
from pipeline.inbox.find import Found, Stop, of_scan
from pipeline.inbox.reader import ReadHere, Reading, isolation_of, open_parsers, recognition
from pipeline.keep.holds import held_documents
from pipeline.keep.retention import due
from pipeline.outbox.provenance import started
from pipeline.outbox.space import look_before_run
from pipeline.parse import ParserPool, Tesseract
from pipeline.plan import RunPlan
from pipeline.records.settings import settings_records
from pipeline.records.types import Isolation
from pipeline.report import Observer
from pipeline.stages.open import Opened


@dataclass(frozen=True)
class Ready:
    """The means to answer documents: the parsers, what reads by them, the loaded model, and the task on it.

    `tesseract` reads pictures of text; without it `unread` says why there is none. `readers`: documents that are read
    at a time, at most; `hands`: machines that answer at a time, and `threads`: what they have to read by, all together.
    """

    pool: ParserPool
    reading: Reading
    tesseract: Tesseract | None
    unread: str
    model: Loaded
    answers: Answers
    readers: int
    hands: Callable[[], int] = lambda: 1
    threads: Callable[[], int] = engine.threads

    def tokens(self, text: str) -> int:
        """The tokens of a text for the model."""
        return self.model.count_tokens([text])[0]


@dataclass(frozen=True)
class Begun:
    """A run whose first records are in the log, from entry `first` on.

    `ready` is None where there is nothing to answer, or where stopping was asked for while the model was loaded.
    `isolation` says how the parsers are held; None without parsers. `is_empty`: the run has nothing to do.
    """

    ready: Ready | None
    isolation: Isolation | None
    is_empty: bool
    first: int


@contextlib.contextmanager
def begin(opened: Opened, found: Found, stop: Stop) -> Iterator[Begun]:
    """Start parsers and load the model, if there are documents. Raises what they raise, and OSError on a full disk."""
    plan, observer, sources = opened.plan, opened.observer, found.sources
    if not plan.retention.ends:
        look_before_run(plan, sources)
    observer.found(len(sources))
    with contextlib.ExitStack() as held:
        pool = held.enter_context(open_parsers(plan.site, engine.threads())) if sources else None
        isolation = isolation_of(plan.site, pool) if pool else None
        if isolation and isolation.told:  # nobody should have to look for it that parsers are held by less
            observer.note("isolation of the parsers", limits=isolation.told)
        model = _loaded(plan, opened.model_sha256, observer, stop) if sources else None
        ready = held.enter_context(_ready(opened, pool, model)) if pool and model else None
        is_empty = not (sources or opened.is_after_a_crash or plan.retry or plan.rerun)
        first = opened.committer.log.next_index
        _commit_first(opened, found, isolation, is_empty)
        opened.take_up()
        if plan.retention.ends:
            _delete_by_rule(opened)
            look_before_run(plan, sources)  # what is deleted makes room
        yield Begun(ready, isolation, is_empty, first)


@contextlib.contextmanager
def _ready(opened: Opened, pool: ParserPool, model: Loaded) -> Iterator[Ready]:
    """The means to answer documents, on this machine or on those of a cluster. MachineRefusedError."""
    plan, observer = opened.plan, opened.observer
    tesseract, unread = recognition(plan, pool, observer)
    here = ReadHere(pool, pool.reader(tesseract) if tesseract else None)
    answers = replace(answerer(plan, model), timer=opened.timer)
    if plan.cluster is None:
        yield Ready(pool, here, tesseract, unread, model, answers, engine.threads())
        return
    from pipeline.cluster.night import READERS, crewed  # Dask is loaded by those runs alone that need it

    with crewed(plan, plan.cluster, opened.model_sha256, here, answers, tesseract, observer) as (there, on_all):
        yield Ready(pool, there, tesseract, unread, model, on_all, READERS, hands=on_all.hands, threads=on_all.threads)


def _commit_first(opened: Opened, found: Found, isolation: Isolation | None, is_empty: bool) -> None:
    """Commit what was recovered, what is new about the job, its settings and its inputs, and that the run starts."""
    plan, history = opened.plan, opened.history
    digest, sha256 = opened.job_digest, opened.model_sha256
    news = history.register.news(plan, digest, sha256)
    settings = () if history.has_settings else settings_records(plan, sha256)
    inputs = history.dispositions.news(of_scan(found.scan))
    start = () if is_empty else (started(plan, digest, sha256, found, isolation),)
    opened.committer.note(*opened.recovered, *news, *settings, *inputs, *start)


def _loaded(plan: RunPlan, sha256: str, observer: Observer, stop: Stop) -> Loaded | None:
    """The model; None if stopping is asked for before, or while its kernels are compiled, of which the cache keeps
    those that are done."""
    if stop():
        return None

    def progress(fact: str) -> None:
        if stop():
            raise _StoppedError
        observer.note(fact)

    try:
        return load_model(plan, sha256, progress)
    except _StoppedError:
        return None


class _StoppedError(Exception):
    """Stopping was asked for while the model was loaded."""


def _delete_by_rule(opened: Opened) -> None:
    """Delete what the job keeps no longer, before there is more of it; nothing where the clock is in doubt."""
    shelf, plan, observer = opened.shelf, opened.plan, opened.observer
    now = shelf.look(audit.stamp_now())
    if shelf.doubt:
        observer.note("nothing is deleted by rule in this run", reason=shelf.doubt)
        return
    records = due(
        shelf, plan.retention, now, held_documents(plan.site, (held.entries for held in shelf.holds.entries.values()))
    )
    if records:
        opened.committer.delete(records)
        opened.history.forget(part for record in records for part in record.parts)
        archive, parts = (sum(map(len, lists)) for lists in zip(*((r.archive, r.parts) for r in records), strict=True))
        observer.note("deleted by rule", archive=archive, parts=parts)
