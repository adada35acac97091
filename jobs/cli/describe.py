"""Jobs in a person's words; for several commands."""

from collections.abc import Mapping, Sequence

from jobs.config.load import LoadedJob
from jobs.nights.ahead import next_start_of
from jobs.visible import counted, one_line

_FEW = 3


def starts(job: LoadedJob, *, here: bool = False) -> str:
    """When `cloister serve` starts the job; the next start in the zone of its schedule, or in that of this machine."""
    schedule, start = job.config.schedule, next_start_of(job)
    if job.config.after:
        return f"when a run of {job.config.after} has finished"
    if schedule is None:
        return "when a complete file lies in its folder"
    shown = start.astimezone() if start and here else start
    return f"{schedule.cron} ({schedule.timezone}), next {f'{shown:%a %Y-%m-%d %H:%M %Z}' if shown else 'never'}"


def first_few(files: Sequence[tuple[str, str]], total: int, names: Mapping[str, int] | None = None) -> str:
    """`9 files: 4 Thumbs.db; a.tmp (why), b.tmp (why), c.tmp (why) and 6 more`, of the first paths with their
    reasons; `names` counts those whose name no person gives."""
    told = ", ".join(f"{one_line(path)} ({one_line(reason)})" for path, reason in files[:_FEW])
    more = f" and {total - _FEW:,} more" if total > _FEW else ""
    kinds = f"{of_names(names)}; " if names else ""
    return f"{counted(total, 'file')}: {kinds}{told}{more}"


def of_names(names: Mapping[str, int]) -> str:
    """`3 Thumbs.db, 1 #recycle/`: files by the patterns of names that no person gives."""
    return ", ".join(f"{count:,} {one_line(pattern).strip()}" for pattern, count in names.items())


def pace_of(documents: int, seconds: float) -> str:
    """Documents a second, or an hour where they are few, with at least two digits that mean something."""
    if documents >= seconds:
        return f"{documents / seconds:,.1f} a second"
    hourly = 3600 * documents / seconds
    return f"{hourly:,.0f} an hour" if hourly >= 10 else f"{hourly:.2g} an hour"


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60:,} h {minutes % 60} min"


def size_of(size: int) -> str:
    """Bytes in the unit in which they are few: `12 bytes`, `3.4 MiB`."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} byte{'' if size == 1 else 's'}"
