"""What a service says in its lines of runs, of starts, and of what is wrong with job files."""

from __future__ import annotations

from structlog.typing import FilteringBoundLogger

import pipeline
from jobs.errors import ConfigError
from jobs.nights.starts import Outcome
from jobs.visible import one_line


def tell_report(log: FilteringBoundLogger, report: pipeline.RunReport) -> None:
    """A line for a run that has ended."""
    how = "run stopped, the rest stays pending" if report.interrupted else "run finished"
    log.info(
        "window closed, the rest is first in the next run" if report.window_closed else how,
        job=report.job,
        run=report.run,
        seconds=round(report.seconds, 1),
        **report.counts,
    )


def tell_start(log: FilteringBoundLogger, decided: pipeline.StartDecided) -> None:
    """A line for starts that were not made."""
    if decided.outcome != Outcome.RAN:
        facts = {"job": decided.of_job, "due": decided.due, "outcome": decided.outcome, "reason": decided.reason}
        log.warning("start left out", **facts, **({"starts": decided.count} if decided.count > 1 else {}))


def tell_problems(log: FilteringBoundLogger, event: str, job: str, error: Exception) -> None:
    """A line for each problem."""
    problems = (
        [each.one_line() for each in error.problems] if isinstance(error, ConfigError) else [one_line(str(error))]
    )
    for problem in problems:
        log.error(event, job=job, problem=problem)
