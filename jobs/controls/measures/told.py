"""The words in which evidence is told."""

from collections.abc import Callable

from jobs.controls.base import Evidence, Running, Standing
from jobs.load import LoadedJob


def times(number: int) -> str:
    """`once`, `twice`, `1,234 times`, `never`."""
    return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number:,} times")


def counted(number: int, noun: str) -> str:
    """`1 job`, `1,234 jobs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def since_then(running: Running, kind: str, what: str) -> str:
    """How often the log says it, and when last: `exported: twice, the last time on 2026-01-31`."""
    day = running.day(kind)
    return f"{what}: {times(running.counted(kind))}" + (f", the last time on {day}" if day else "")


def available(running: Running, kind: str, what: str) -> Evidence:
    """Evidence of something that people use when they need it."""
    return Evidence(Standing.AVAILABLE, since_then(running, kind, what))


def of_jobs(running: Running, has: Callable[[LoadedJob], bool], what: str) -> Evidence:
    """Evidence of something that each job can have: in force where all of them do."""
    names = [job.name for job in running.jobs if has(job)]
    number = len(running.jobs)
    if not number:
        return Evidence(Standing.NOT_IN_FORCE, "there are no jobs")
    standing = Standing.IN_FORCE if len(names) == number else Standing.IN_PART if names else Standing.NOT_IN_FORCE
    listed = f": {', '.join(names)}" if names and len(names) < number else ""
    return Evidence(standing, f"{len(names):,} of {number:,} jobs {what}{listed}")
