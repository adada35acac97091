"""`--from` and `--to`: days, or moments, as the log writes times."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from jobs.errors import ConfigError, Problem

FromOption = Annotated[
    str | None,
    typer.Option("--from", metavar="DATE", help="From this day (UTC) or moment on: 2026-11-20, 2026-11-20T22:00:00Z."),
]
ToOption = Annotated[
    str | None, typer.Option("--to", metavar="DATE", help="Up to this day, which counts, or up to this moment.")
]


def from_date(text: str | None) -> str | None:
    """The first time that counts. ConfigError."""
    return _told(_moment("--from", text)) if text is not None else None


def to_date(text: str | None) -> str | None:
    """The first time that counts no more. ConfigError."""
    if text is None:
        return None
    moment = _moment("--to", text)
    return _told(moment + timedelta(days=1) if _is_day(text) else moment)


def _is_day(text: str) -> bool:
    return len(text) == len("2026-11-20")


def _moment(option: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if _is_day(text) else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ConfigError(
            Problem(option, f"{text!r}", "a day such as 2026-11-20, or a moment such as 2026-11-20T22:00:00Z")
        ) from None


def _told(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
