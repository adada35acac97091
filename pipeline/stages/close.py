"""Close a run: its last entry, and the report."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipeline.inbox.find import Found
from pipeline.records.nights import is_told
from pipeline.records.types import RunEmpty, RunFinished
from pipeline.report import LISTED, RunReport
from pipeline.stages.ahead import Ahead
from pipeline.stages.begin import Begun
from pipeline.stages.open import Opened
from pipeline.stages.tally import Counted


def close(opened: Opened, found: Found, begun: Begun, counted: Counted, ahead: Ahead) -> RunReport:
    """Commit how the run ended, and report it. What people decided while it ended is taken up before the log is let
    go."""
    report = _report(opened, found, begun, counted)
    if begun.is_empty:
        opened.committer.note(*_empty(opened, begun, report))
    else:
        news = opened.history.dispositions.news(counted.unread())
        opened.committer.note(*news, *opened.nightly.make(report), _finished(report, ahead))
        opened.nightly.place()
    opened.take_up()
    if opened.nightly.why_not:
        opened.observer.note("no report of the night could be made", reason=opened.nightly.why_not)
    if night := opened.nightly.facts:
        report = replace(report, verdict=night.verdict, unlike=() if report.rerun else tuple(night.unlike))
    return replace(report, report=opened.nightly.file, no_report=opened.nightly.why_not)


def _report(opened: Opened, found: Found, begun: Begun, counted: Counted) -> RunReport:
    plan, committer = opened.plan, opened.committer
    return RunReport(
        run=committer.run,
        job=plan.job,
        counts={state.value: count for state, count in counted.counts.items()},
        known=counted.known,
        parts=tuple(committer.parts),
        tokens=counted.tokens,
        seconds=opened.timer() - opened.begun,
        interrupted=counted.left > 0 and not counted.window_closed,
        window_closed=counted.window_closed,
        model_sha256=opened.model_sha256,
        pinned=plan.model.sha256 is not None,
        retried=plan.retry is not None,
        lost=tuple((key.path, reason) for key, reason in opened.lost.items()),
        ignored=(*found.scan.ignored, *counted.passed_over)[:LISTED],
        pending=(*found.scan.pending, *counted.pending[:LISTED])[:LISTED],
        failed=counted.failed,
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
