"""One run of one job, from the scan to the closing entry (README.md: the life of a document)."""

import contextlib
import errno
import os
import secrets
import time
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import audit
import engine
from pipeline.answer.compute import Embedding
from pipeline.answer.converse import Conversing
from pipeline.answer.memory import give_back_freed
from pipeline.answer.models import Loaded, answerer, check_machine, check_model, load_model, writing_of
from pipeline.errors import MachineRefusedError, ModelRefusedError
from pipeline.inbox.batches import Comparing
from pipeline.inbox.decide import Decisions
from pipeline.inbox.discover import Candidate, Scan, scan
from pipeline.inbox.feed import Feed
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Ended, Source, ended_row
from pipeline.inbox.parsers import isolation_of, open_parsers
from pipeline.inbox.reader import Reader, recognition
from pipeline.inbox.retry import again
from pipeline.inbox.rows import Work
from pipeline.inbox.sightings import Sightings
from pipeline.inbox.unread import set_aside, taken_up
from pipeline.inbox.untaken import of_scan, of_stop
from pipeline.keep.holds import held_documents
from pipeline.keep.retention import Shelf, due
from pipeline.outbox.commit import Committer
from pipeline.outbox.outputs import begun_before
from pipeline.outbox.provenance import maker, started
from pipeline.outbox.recover import clear_staging, describe, recover
from pipeline.outbox.running import announced
from pipeline.outbox.space import hold_reserve, log_full, look_before_run
from pipeline.plan import Input, RunPlan
from pipeline.records.dispositions import Disposition
from pipeline.records.entries import read_entries
from pipeline.records.history import History, read_history
from pipeline.records.index import job_history
from pipeline.records.isolation import Isolation
from pipeline.records.journal import open_journal
from pipeline.records.nights import Entry, is_told
from pipeline.records.private import refuse_open
from pipeline.records.refused import log_refused
from pipeline.records.settings import job_digest, settings_records
from pipeline.records.software import label
from pipeline.report import LISTED, Observer, RunReport
from pipeline.states import State

_PATIENCE = 15.0  # seconds that a run waits for files to become still: others wait for the workspace meanwhile
_LONG_BATCH = 200_000  # tokens: some ten seconds, of which the observer is told

Stop = Callable[[], bool]
T = TypeVar("T")


def run(
    plan: RunPlan, *, observer: Observer, stop: Stop = lambda: False, sightings: Sightings | None = None
) -> RunReport:
    """Process every settled document of the job's input folder once, and commit what comes of it.

    `sightings` are what earlier scans of the folder saw. When `stop()` becomes true, what is computed is committed and
    the rest stays pending. Raises audit.AuditError (nothing more is processed), MachineRefusedError and
    ModelRefusedError (before any document is touched) and OSError (the workspace cannot be written). Whatever happens,
    the next run goes on from the last commit.
    """
    name = _run_id()
    try:
        return _run(plan, name, observer, stop, sightings or Sightings())
    except (OSError, audit.LogUnwritable) as error:
        log_full(plan, name, error)
        raise
    except (ModelRefusedError, MachineRefusedError) as error:
        log_refused(plan, name, error)
        raise


def _run(plan: RunPlan, name: str, observer: Observer, stop: Stop, sightings: Sightings) -> RunReport:
    begun, site = time.monotonic(), plan.site
    check_machine()
    give_back_freed()
    with open_journal(site) as log, announced(plan, name, observer) as observer, contextlib.ExitStack() as held:
        hold_reserve(site)
        if plan.private:
            refuse_open(site.root)
        model_sha256 = check_model(plan)
        plan = replace(plan, writing=writing_of(plan))
        digest = job_digest(plan, model_sha256)
        shelf = Shelf(plan.job)
        history = _history(plan, digest, log.next_index, shelf)
        recovered = recover(site, log, history)
        if recovered or history.cut_off:
            observer.note("recovered", what=describe(recovered, history.cut_off))
        if history.closed:
            observer.note("entries of private jobs that nothing in private/ opens", entries=len(history.closed))
        check_inbox(plan.input)
        outputs = begun_before(plan, history, digest, observer) if plan.is_batch else None
        lost = outputs.lost if outputs else {}
        found, sources = _found(plan, history, lost, observer, stop, sightings)
        if not plan.retention.ends:
            look_before_run(plan, sources)
        committer = Committer(plan, log, name, history.last, outputs=outputs)
        tally = _Tally(found, sources, observer, tuple((key.path, reason) for key, reason in lost.items()))
        observer.found(len(sources))
        pool = held.enter_context(open_parsers(site, engine.threads())) if sources else None
        isolation = isolation_of(site, pool) if pool else None
        _tell(isolation, observer)
        model = _loaded(plan, model_sha256, observer, stop) if sources else None
        answers = answerer(plan, model) if model else None
        settings = () if history.has_settings else settings_records(plan, model_sha256)
        news = [*history.register.news(plan, digest, model_sha256), *settings]
        news += history.dispositions.news(of_scan(found))
        empty, first = not (sources or recovered or history.cut_off or plan.retry), log.next_index
        opening = () if empty else (started(plan, digest, model_sha256, found, len(sources), isolation),)
        committer.note(*recovered, *news, *opening)
        if plan.retention.ends:
            _delete_by_rule(plan, shelf, committer, history, observer)
            look_before_run(plan, sources)  # what is deleted makes room
        if empty:
            report = tally.report(plan, committer, model_sha256, time.monotonic() - begun)
            last = history.empty if log.next_index == first else None
            committer.note(*_empty(report, digest, last))
            return report
        if model and answers and pool:
            with _tidied(committer), held.pop_all():
                tesseract, lacking = recognition(plan, pool, observer)
                committer.facts = maker(plan, digest, model, pool.describe(), tesseract)
                pages = pool.reader(tesseract) if tesseract else None
                reader, decisions = Reader(plan, pool, pages, lacking, stop), Decisions(plan, history)
                feed = Feed(plan, decisions, reader, engine.threads(), tally.expect)
                _Loop(plan, committer, answers, tally, observer, stop).work(feed)
        report = tally.report(plan, committer, model_sha256, time.monotonic() - begun)
        report = replace(report, isolation=isolation)
        committer.note(*history.dispositions.news(tally.unread()), _finished(report))
    return report


def _loaded(plan: RunPlan, sha256: str, observer: Observer, stop: Stop) -> Loaded | None:
    """The model; None if stopping is asked for while its kernels are compiled, of which the cache keeps those that are
    done."""

    def progress(fact: str) -> None:
        if stop():
            raise _StoppedError
        observer.note(fact)

    try:
        return load_model(plan, sha256, progress)
    except _StoppedError:
        return None


def _history(plan: RunPlan, digest: str, size: int, shelf: Shelf) -> History:
    if plan.retention.ends:
        return read_history(shelf.passing(read_entries(plan.site)), plan.job, digest)
    return job_history(plan.site, size, plan.job, digest)


def _delete_by_rule(plan: RunPlan, shelf: Shelf, committer: Committer, history: History, observer: Observer) -> None:
    """What the job keeps no longer, before there is more of it; nothing in a run that finds the clock in doubt."""
    now = shelf.look(asdict(audit.stamp_now()))
    if shelf.doubt:
        observer.note("nothing is deleted by rule in this run", reason=shelf.doubt)
        return
    records = due(shelf, plan.retention, now, held_documents(plan.site, shelf.holds.values()))
    if records:
        committer.delete(records)
        history.forget(part for record in records for part in record["parts"])
        counts = {kind: sum(len(record[kind]) for record in records) for kind in ("archive", "parts")}
        observer.note("deleted by rule", **counts)


def _empty(report: RunReport, digest: str, last: Entry | None) -> list[dict[str, Any]]:
    """The record of a run that had nothing to do, unless `last` says so for this night."""
    model = {"job_digest": digest, "model_sha256": report.model_sha256}
    empty = {"type": "run.empty", **model, "seen": report.seen, **report.counts, "known": report.known}
    return [] if is_told(last, empty) else [empty]


@contextlib.contextmanager
def _tidied(committer: Committer) -> Iterator[None]:
    """Whatever ends the run, what was staged in vain goes at once: on a full disk the next start needs the room."""
    try:
        yield
    finally:
        if not committer.placing:
            clear_staging(committer.plan.outbox, committer.plan.archive)


@dataclass
class _Tally:
    """The counts of a run as they grow."""

    found: Scan
    sources: Sequence[Source]
    observer: Observer
    lost: tuple[tuple[str, str], ...]
    inner: int = 0  # documents that containers have brought
    counts: dict[State, int] = field(default_factory=lambda: dict.fromkeys(State, 0))
    known: int = 0
    tokens: int = 0
    ended: int = 0  # of the sources themselves
    pending: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str, str]] = field(default_factory=list)

    def unread(self) -> Iterator[Disposition]:
        """What was not taken, or not come to: of documents that failed before, their rows say more."""
        yield from ((State.PENDING.value, reason, path) for path, reason in self.pending)
        yield from of_stop([source for source in self.sources[self.ended :] if isinstance(source, Candidate)])

    def expect(self, count: int) -> None:
        """A container brings so many documents more."""
        self.inner += count
        self.observer.found(len(self.sources) + self.inner)

    def report(self, plan: RunPlan, committer: Committer, model_sha256: str, seconds: float) -> RunReport:
        """Close the tally: whatever reached no state is pending."""
        left = len(self.sources) + self.inner - sum(self.counts.values())
        self.counts[State.PENDING] += left + len(self.found.pending)
        self.counts[State.IGNORED] += len(self.found.ignored)
        return RunReport(
            run=committer.run, job=plan.job, counts={state.value: n for state, n in self.counts.items()},
            known=self.known, parts=tuple(committer.parts), tokens=self.tokens, seconds=seconds,
            interrupted=left > 0, model_sha256=model_sha256, pinned=plan.model.sha256 is not None,
            retried=plan.retry is not None, lost=self.lost, ignored=self.found.ignored[:LISTED],
            pending=(*self.found.pending, *self.pending[:LISTED])[:LISTED], failed=tuple(self.failed),
        )  # fmt: skip


class _StoppedError(Exception):
    """The run is to stop, and a batch is not finished: its documents stay pending."""


@dataclass
class _Loop:
    """Gather rows into parts."""

    plan: RunPlan
    committer: Committer
    answers: Embedding | Conversing
    tally: _Tally
    observer: Observer
    stop: Stop
    rows: list[tuple[dict[str, Any], Arrival]] = field(default_factory=list)
    failed: dict[str, dict[str, Any]] = field(default_factory=dict)  # document -> its row, of those computed in vain
    last_commit: float = field(default_factory=time.monotonic)
    told: int = 0  # tenths of a long batch that the observer knows of

    def work(self, feed: Feed) -> None:
        """Everything the feed gives, and a last commit."""
        review = self.plan.input.hidden == "review"
        with contextlib.suppress(_StoppedError):
            items = feed(self.tally.sources, self.stop)
            for group in self.answers(items, self._pulse, review_hidden=review):
                for item, row in group:
                    self._take(item, row)
                self._commit_if_due()
        while self.rows:
            self._commit()

    def _take(self, item: Work | Ended, answered: dict[str, Any] | None) -> None:
        row = self._ended_row(item) if isinstance(item, Ended) else answered
        assert row is not None
        if isinstance(item, Work) and row["state"] == State.FAILED:
            self.failed[row["document"]] = row
        self._count(row)
        if row["state"] not in (State.IGNORED, State.PENDING):
            self.rows.append((self._complete(row), item.arrival))

    def _pulse(self, done: int, total: int) -> None:
        if self.stop():
            raise _StoppedError
        tenths = 10 * done // max(total, 1)
        if total >= _LONG_BATCH and tenths != self.told:
            self.observer.note("computing a long document", tokens=done, of=total)
        self.told = tenths

    def _ended_row(self, ended: Ended) -> dict[str, Any]:
        """The same bytes as a document that was computed in vain are so too: as they are after a restart."""
        original = self.failed.get(ended.arrival.sha256 or "")
        if ended.state == State.DUPLICATE and original:
            return original | {"path": ended.arrival.path, "parent": ended.arrival.parent}
        return ended_row(ended)

    def _complete(self, row: dict[str, Any]) -> dict[str, Any]:
        facts = self.committer.facts
        same = {key: facts[key] for key in ("model_sha256", "numerics", "job_digest")}
        return row | same | {"software": label(), "finished_at": datetime.now(UTC)}

    def _count(self, row: dict[str, Any]) -> None:
        state, path = State(row["state"]), row["path"]
        self.tally.counts[state] += 1
        self.tally.tokens += row.get("tokens", 0)
        self.tally.ended += row["parent"] is None
        if state == State.FAILED:
            _list(self.tally.failed, (path, row["failure"], row["reason"]))
        elif state == State.PENDING:
            self.tally.pending.append((path, row["reason"]))
        elif state == State.IGNORED:
            self.tally.known += 1
        told = f"{row['failure']}: {row['reason']}" if row.get("failure") else row["reason"]
        self.observer.finished(path, state.value, told)

    def _commit_if_due(self) -> None:
        while len(self.rows) >= self.plan.part_documents:
            self._commit()
        if time.monotonic() - self.last_commit >= self.plan.part_seconds:
            self._commit()

    def _commit(self) -> None:
        rows, self.rows = self.rows[: self.plan.part_documents], self.rows[self.plan.part_documents :]
        if rows:
            self.committer.commit(rows)
            self.observer.note("part committed", rows=len(rows), file=str(self.committer.parts[-1]))
        self.last_commit = time.monotonic()


def _list(told: list[T], one: T) -> None:
    """Keep what is told of a run short."""
    if len(told) < LISTED:
        told.append(one)


def _tell(isolation: Isolation | None, observer: Observer) -> None:
    """Nobody should have to look for it that parsers are held by less than they could be."""
    if isolation and isolation.told:
        observer.note("isolation of the parsers", limits=isolation.told)


def check_inbox(source: Input) -> None:
    """PermissionError where documents have to be moved out of the input folder, and cannot be."""
    if source.afterwards == "archive" and not os.access(source.folder, os.W_OK | os.X_OK):
        remedy = "documents cannot be moved out of it; allow writing, or set input.afterwards to keep"
        raise PermissionError(errno.EACCES, remedy, str(source.folder))


def _found(
    plan: RunPlan, history: History, lost: Container[tuple[str, str]], observer: Observer, stop: Stop,
    sightings: Sightings,
) -> tuple[Scan, Sequence[Source]]:  # fmt: skip
    """What lies in the input folder and, of it, what is taken; or what failed before and is taken up again, but for
    what is in containers of which rows are lost."""
    if plan.retry is not None:
        unread = taken_up(scan(plan.input, sightings=sightings), history.unread, plan.retry)
        return Scan((), (), (), ()), (*again(history, plan.retry, lost), *unread)
    comparing = Comparing(lambda path, sha256: (path, sha256) in history.paths, stop)
    look = partial(scan, plan.input, sightings=sightings, comparing=comparing)
    found = _wait_until_still(look, plan.input.settle_seconds, observer, stop)
    found = set_aside(found, history.unread, plan.site.max_document_bytes)
    return found, found.ready


def _wait_until_still(look: Callable[[], Scan], seconds: float, observer: Observer, stop: Stop) -> Scan:
    """Scan; when files were touched a moment ago, give them time to become still, but no more than _PATIENCE."""
    found = look()
    patience = min(seconds + 0.1, _PATIENCE)
    deadline = time.monotonic() + patience
    if found.settling:
        observer.note("waiting until files are still", files=len(found.settling), at_most_seconds=round(patience, 1))
    while found.settling and time.monotonic() < deadline and not stop():
        time.sleep(min(0.5, seconds))
        found = look()
    return found


def _finished(report: RunReport) -> dict[str, Any]:
    return {
        "type": "run.finished",
        "seen": report.seen,
        **report.counts,
        "known": report.known,
        "tokens": report.tokens,
        "seconds": round(report.seconds, 3),
        "interrupted": report.interrupted,
        "parts": len(report.parts),
    }


def _run_id() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ-") + secrets.token_hex(3)
