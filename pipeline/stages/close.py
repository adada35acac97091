"""Close a run: its counts, its last entry, and the report."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.document import Row
from pipeline.inbox.discover import Candidate
from pipeline.inbox.find import STOPPED, WINDOW_CLOSED, Found, of_stop
from pipeline.records.nights import is_told
from pipeline.records.register import Disposition
from pipeline.records.types import RunEmpty, RunFinished
from pipeline.report import LISTED, Observer, RunReport
from pipeline.stages.ahead import Ahead
from pipeline.stages.begin import Begun
from pipeline.stages.open import Opened
from pipeline.states import OF_RUNS, State


@dataclass
class Tally:
    """The counts of a run as they grow. `inner`: documents that containers brought; `ended`: sources that ended.
    `pending` and `failed` are told of one by one; `passed_over`: archived documents that a rerun left when their turn
    came, with the reason. At the end `left`: how many did not come to their turn."""

    found: Found
    observer: Observer
    inner: int = 0
    counts: dict[State, int] = field(default_factory=lambda: dict.fromkeys(OF_RUNS, 0))
    known: int = 0
    tokens: int = 0
    ended: int = 0
    pending: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    passed_over: list[tuple[str, str]] = field(default_factory=list)
    left: int = 0
    window_closed: bool = False

    def expect(self, count: int) -> None:
        """Take in that a container brings so many documents more."""
        self.inner += count
        self.observer.found(len(self.found.sources) + self.inner)

    def count(self, row: Row) -> None:
        """Take in the row of a document, and tell the observer of it."""
        state, path = State(row.state), row.path
        self.counts[state] += 1
        self.tokens += row.tokens or 0
        self.ended += row.parent is None
        if state == State.FAILED and len(self.failed) < LISTED:
            self.failed.append((path, row.failure or "", row.reason or ""))
        elif state == State.PENDING:
            self.pending.append((path, row.reason or ""))
        elif state == State.IGNORED and self.found.told:
            self.passed_over.append((path, row.reason or ""))
        elif state == State.IGNORED:
            self.known += 1
        told = f"{row.failure}: {row.reason}" if row.failure else row.reason
        self.observer.finished(path, state.value, told)

    def take_back(self, row: Row, reason: str) -> None:
        """A row that was counted is not committed, for that reason: a rerun leaves the document as it is."""
        self.counts[State(row.state)] -= 1
        self.counts[State.IGNORED] += 1
        self.failed = [told for told in self.failed if told[0] != row.path]
        self.passed_over.append((row.path, reason))

    def end(self, *, window_closed: bool) -> None:
        """Whatever reached no state is pending, and what the scan left out is counted too. `window_closed`: anything
        that is left is left for that reason."""
        self.left = len(self.found.sources) + self.inner - sum(self.counts.values())
        self.counts[State.PENDING] += self.left + len(self.found.scan.pending)
        self.counts[State.IGNORED] += len(self.found.scan.ignored)
        self.window_closed = window_closed and self.left > 0

    def unread(self) -> Iterator[Disposition]:
        """The inputs that were not taken, or not come to; of documents that failed before, their rows say more."""
        yield from ((State.PENDING.value, reason, path) for path, reason in self.pending)
        yield from ((State.IGNORED.value, reason, path) for path, reason in self.passed_over)
        why = WINDOW_CLOSED if self.window_closed else STOPPED
        yield from of_stop([each for each in self.found.sources[self.ended :] if isinstance(each, Candidate)], why)


def close(opened: Opened, begun: Begun, tally: Tally, ahead: Ahead) -> RunReport:
    """Commit how the run ended, and report it. What people decided while it ended is taken up before the log is let
    go."""
    report = _report(opened, begun, tally)
    if begun.is_empty:
        opened.committer.note(*_empty(opened, begun, report))
    else:
        news = opened.history.dispositions.news(tally.unread())
        opened.committer.note(*news, *opened.nightly.make(report), _finished(report, ahead))
        opened.nightly.place()
    opened.take_up()
    if opened.nightly.why_not:
        opened.observer.note("no report of the night could be made", reason=opened.nightly.why_not)
    if night := opened.nightly.facts:
        report = replace(report, verdict=night.verdict, unlike=() if report.rerun else tuple(night.unlike))
    return replace(report, report=opened.nightly.file, no_report=opened.nightly.why_not)


def _report(opened: Opened, begun: Begun, tally: Tally) -> RunReport:
    plan, committer, found = opened.plan, opened.committer, tally.found
    return RunReport(
        run=committer.run,
        job=plan.job,
        counts={state.value: count for state, count in tally.counts.items()},
        known=tally.known,
        parts=tuple(committer.parts),
        tokens=tally.tokens,
        seconds=opened.timer() - opened.begun,
        interrupted=tally.left > 0 and not tally.window_closed,
        window_closed=tally.window_closed,
        model_sha256=opened.model_sha256,
        pinned=plan.model.sha256 is not None,
        retried=plan.retry is not None,
        lost=tuple((key.path, reason) for key, reason in opened.lost.items()),
        ignored=(*found.scan.ignored, *tally.passed_over)[:LISTED],
        pending=(*found.scan.pending, *tally.pending[:LISTED])[:LISTED],
        failed=tuple(tally.failed),
        isolation=begun.isolation,
        rerun=found.told,
        names=dict(found.scan.names),
    )


def _empty(opened: Opened, begun: Begun, report: RunReport) -> list[RunEmpty]:
    """The record of a run that had nothing to do, unless the log's last entry of the job says so for this night."""
    last = opened.history.empty if opened.committer.log.next_index == begun.first else None
    counts: Mapping[str, Any] = report.counts
    digest, model = opened.job_digest, report.model_sha256
    empty = RunEmpty(job_digest=digest, model_sha256=model, seen=report.seen, known=report.known, **counts)
    return [] if is_told(last, empty) else [empty]


def _finished(report: RunReport, ahead: Ahead) -> RunFinished:
    counts: Mapping[str, Any] = report.counts
    return RunFinished(
        **counts,
        seen=report.seen,
        known=report.known,
        tokens=report.tokens,
        seconds=round(report.seconds, 3),
        interrupted=report.interrupted,
        window_closed=report.window_closed,
        parts=len(report.parts),
        ready_seconds=ahead.ready_seconds,
        forecast=ahead.forecast,
    )
