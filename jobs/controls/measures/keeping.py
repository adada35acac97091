"""Measures of keeping and deleting: for how long, what is held back, and what an entry tells of a document."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from jobs.controls.base import Evidence, Measure, Running, Standing
from jobs.controls.measures.told import available, counted, of_jobs, since_then

_DAYS = 31
"""A backup that is older than that is one in part."""


def _retention(running: Running) -> Evidence:
    rules = of_jobs(running, lambda job: job.config.retention is not None, "delete by a rule")
    return Evidence(rules.standing, f"{rules.words}; {since_then(running, 'deleted.by_rule', 'deleted by rule')}")


def _holds(running: Running) -> Evidence:
    placed, released = running.counted("hold"), running.counted("released")
    return Evidence(Standing.AVAILABLE, f"{placed:,} holds were placed, and {released:,} released")


def _backup(running: Running) -> Evidence:
    told = since_then(running, "backed_up", "backed up")
    last = running.log.last.get("backed_up")
    if last is None:
        return Evidence(Standing.NOT_IN_FORCE, f"{told}, by this product's command")
    if not last["right"]:
        return Evidence(Standing.NOT_IN_FORCE, f"{told}; that copy was not right")
    late = running.now - datetime.fromisoformat(last["time"]) > timedelta(days=_DAYS)
    return Evidence(Standing.IN_PART if late else Standing.IN_FORCE, f"{told}; the copy was verified")


def _jobs(running: Running) -> Evidence:
    if running.broken:
        return Evidence(Standing.IN_PART, f"these job files cannot be read: {', '.join(running.broken)}")
    kinds = ", ".join(f"{job.name} ({job.config.task.type})" for job in running.jobs[:10])
    more = f" and {len(running.jobs) - 10:,} more" if len(running.jobs) > 10 else ""
    standing = Standing.IN_FORCE if running.jobs else Standing.NOT_IN_FORCE
    return Evidence(standing, counted(len(running.jobs), "job") + (f": {kinds}{more}" if running.jobs else ""))


MEASURES: Mapping[str, Measure] = {
    "retention": Measure(
        "A job deletes archived documents and rows after so many days, and the log says which.",
        "cloister check; retention in jobs/*.yaml",
        _retention,
    ),
    "deletion": Measure(
        "A document and what was in it is erased on request. The log keeps that it was there, and why it went; of a "
        "job that is not private also its name and sha256.",
        "cloister audit erase",
        lambda running: available(running, "erased", "erased"),
    ),
    "holds": Measure(
        "What is on hold is not deleted, neither by a rule nor by a command.", "cloister audit hold", _holds
    ),
    "backup": Measure(
        "A copy of the workspace is made while work goes on, and verified; a restored one says whether it is the "
        "newest state.",
        "cloister backup; cloister restore",
        _backup,
    ),
    "private": Measure(
        "A private job's entries have salted commitments in the place of names and digests.",
        "private in jobs/*.yaml",
        lambda running: of_jobs(running, lambda job: job.config.private, "are private"),
    ),
    "telling": Measure(
        "No entry of the log and no line of the service holds text of a document. Names of files stand there, unless "
        "the job is private, and the reasons that people write.",
        "SECURITY.md",
        lambda running: Evidence(Standing.IN_FORCE, "by the types of records"),
    ),
    "jobs": Measure(
        "What is done with which documents stands in one file for each job, whose sha256 is in the log with each run.",
        "jobs/*.yaml; cloister check",
        _jobs,
    ),
    "controls": Measure(
        "This matrix is made from the running configuration and the log.",
        "cloister audit controls",
        lambda running: Evidence(Standing.IN_FORCE, f"made on {running.now:%Y-%m-%d}"),
    ),
}
