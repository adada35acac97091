"""Jobs in a person's words; for several commands."""

from datetime import UTC, datetime

from jobs.cli.output import counted
from jobs.cron import find_zone, next_start, parse_cron
from jobs.load import LoadedJob


def next_start_of(job: LoadedJob) -> datetime | None:
    """The next start by the job's cron line; None for a job without one."""
    schedule = job.config.schedule
    if schedule is None:
        return None
    return next_start(parse_cron(schedule.cron), datetime.now(UTC), find_zone(schedule.timezone))


def starts(job: LoadedJob) -> str:
    """When `cloister serve` starts the job."""
    schedule, start = job.config.schedule, next_start_of(job)
    if schedule is None or start is None:
        return "when a complete file lies in its folder"
    return f"{schedule.cron} ({schedule.timezone}), next {start:%a %Y-%m-%d %H:%M %Z}"


def asks(job: LoadedJob) -> str:
    """The task in a line."""
    task = job.config.task
    match task.type:
        case "classify":
            return f"classify as {', '.join(label.name for label in task.labels)}"
        case "extract":
            return f"extract {', '.join(f'{field.name} ({field.type})' for field in task.fields)}"
    return f"summarize in {counted(task.sentences, 'sentence') if task.sentences else counted(task.words or 0, 'word')}"
