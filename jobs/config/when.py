"""When a job runs, and who is told: the keys of its schedule, of late and missed starts, of its window, of `notify`."""

import re
from datetime import date, datetime, time, timedelta
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from jobs.config.cron import find_zone, next_start, parse_cron
from jobs.config.section import Items, RefusedValueError, Section, Text, check_unique

_MOST_SKIPPED = 500  # days one after another; a line for one day of the year may only mean days that are skipped
Cause = Literal["success", "failure", "window_closed", "refused", "nothing_arrived", "unlike"]
SiteCause = Literal[Cause, "not_verified"]
_CAUSES = (
    "success: documents were answered and none failed; failure: some failed, or there was no run; window_closed: that "
    "was before all were done; refused: there was no run, for its model or a mistake in a file; nothing_arrived: a job "
    "with a schedule found nothing; unlike: this night is unlike those before"
)


def _cron(text: str) -> str:
    try:
        parse_cron(text)
    except ValueError as error:
        raise RefusedValueError(
            f"the cron line {text!r}: {error}", 'five fields, such as "0 22 * * 1-5", or @daily and the like'
        ) from error
    return text


def _timezone(name: str) -> str:
    try:
        find_zone(name)
    except ValueError as error:
        raise RefusedValueError(
            str(error), "a name of the IANA time zone data base, such as Europe/Berlin or UTC"
        ) from error
    return name


def _time_of_day(text: str) -> str:
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", text, re.ASCII):
        raise RefusedValueError(
            f"the time of day {text!r}", 'hours and minutes from "00:00" to "23:59", such as "06:00"'
        )
    return text


class LateBefore(Section):
    """Up to when a start that is late may still be made."""

    before: Annotated[Text, AfterValidator(_time_of_day)] = Field(
        description="a time of day in the zone of the schedule: it starts before the first such time, or not at all"
    )

    @property
    def time(self) -> time:
        """The time of day."""
        return time.fromisoformat(self.before)


def _late(value: Any) -> Any:
    if isinstance(value, dict) or value in ("run", "skip"):
        return value
    raise RefusedValueError(f"late: {value}", 'run, skip, or {before: "02:00"}')


def _form_of(value: Any) -> str:
    return "<mapping>" if isinstance(value, dict | LateBefore) else "<word>"


def _date(text: str) -> str:
    try:
        if not re.fullmatch(r"(\d{4}-)?\d\d-\d\d", text, re.ASCII):
            raise ValueError(text)
        date.fromisoformat(text if len(text) > 5 else f"2000-{text}")  # a leap year
    except ValueError as error:
        raise RefusedValueError(
            f"the date {text!r}", 'a day that exists, such as "2026-12-24", or "12-25" for every year'
        ) from error
    return text


class ScheduleConfig(Section):
    """When `cloister serve` starts the job."""

    cron: Annotated[Text, AfterValidator(_cron)] = Field(
        description="a cron line: minute hour day-of-month month day-of-week, or @daily and the like; L is the last "
        "day of a month"
    )
    timezone: Annotated[Text, AfterValidator(_timezone)] = Field(
        description="the IANA time zone of the cron line, such as Europe/Berlin or UTC"
    )
    skip_dates: Annotated[tuple[Annotated[Text, AfterValidator(_date)], ...], Items] = Field(
        (), description='days without a start, such as "2026-12-24", or "12-25" for every year'
    )
    late: Annotated[
        Annotated[Literal["run", "skip"], Tag("<word>")] | Annotated[LateBefore, Tag("<mapping>")],
        Discriminator(_form_of),
        BeforeValidator(_late),
    ] = Field(
        "run",
        description="a start that could not be made in its minute, because other jobs were running: run it, skip it, "
        "or run it only before a time of day",
    )
    missed: Literal["once", "all", "none"] = Field(
        "once",
        description="starts at which nothing served, because service or machine were down or asleep: make up for all "
        "of them once, for each of them, or for none; late: {before} holds for these, too",
    )
    overlap: Literal["queue", "skip"] = Field(
        "queue", description="a start while the job is still running: start again after that, or skip it"
    )

    @model_validator(mode="after")
    def _each_date_once(self) -> Self:
        check_unique(self.skip_dates, str, lambda index: ("skip_dates", index), "date")
        return self

    @model_validator(mode="after")
    def _not_always_late(self) -> Self:
        if isinstance(self.late, LateBefore) and self.only_starts_at(self.late.time):
            found = f"late before {self.late.before} for a job that only starts at {self.late.before}: it excludes"
            raise RefusedValueError(f"{found} every start", "a time that is later than a start", at=("late", "before"))
        return self

    def only_starts_at(self, moment: time) -> bool:
        """Whether every start is due at this time of day."""
        line = parse_cron(self.cron)
        return line.hours == {moment.hour} and line.minutes == {moment.minute}

    def skips(self, day: date) -> bool:
        """Whether nothing starts on this day."""
        return day.isoformat() in self.skip_dates or f"{day:%m-%d}" in self.skip_dates

    def next_start(self, after: datetime) -> datetime | None:
        """The first start later than `after` that is not on one of the skipped dates, in the zone of the schedule; None
        if the cron line means none, or only days that are skipped."""
        line, zone, start = parse_cron(self.cron), find_zone(self.timezone), after
        for _ in range(_MOST_SKIPPED):
            found = next_start(line, start, zone)
            if found is None or not self.skips(found.date()):
                return found
            start = datetime.combine(found.date() + timedelta(days=1), time.min, zone) - timedelta(seconds=1)
        return None


class WindowConfig(Section):
    """Until when a run may compute."""

    until: Annotated[Text, AfterValidator(_time_of_day)] = Field(
        description="a time of day, in the time zone of the schedule, or of the machine for a job without one: a run "
        "starts no document that is not expected to be done by the first such time after its start"
    )

    share: int = Field(
        1,
        ge=1,
        le=1000,
        description="the job's share of the time that is left, while other jobs with a window wait: with shares of 2 "
        "and 1 it may compute for two thirds of it before the other one",
    )

    @property
    def time(self) -> time:
        """The time of day."""
        return time.fromisoformat(self.until)

    def check_schedule(self, schedule: ScheduleConfig) -> None:
        """RefusedValueError where the window closes at the very minute of each start."""
        if schedule.only_starts_at(self.time):
            found = f"a window until {self.until} for a job that only starts at {self.until}: it excludes every start"
            raise RefusedValueError(
                found, "an end that is later than a start", "another time in one of the two", ("window", "until")
            )


class NotifyConfig(Section):
    """A command that is called when a run has ended, with what happened as JSON on its standard input."""

    command: Annotated[tuple[Text, ...], Items] = Field(
        min_length=1,
        description="the program and its arguments, one text each; no shell reads them, they start in the workspace, "
        "and they stand in the log: put no passwords there",
    )
    on: Annotated[tuple[Cause, ...], Items] = Field(
        ("failure", "unlike"), min_length=1, description=f"what it is called for: {_CAUSES}"
    )
    seconds: float = Field(60.0, gt=0, le=3600, description="after so many seconds it is killed, with all it started")

    @model_validator(mode="after")
    def _each_cause_once(self) -> Self:
        check_unique(self.on, str, lambda index: ("on", index), "cause")
        return self


class SiteNotifyConfig(NotifyConfig):
    """The command of a site, which is called for all of its jobs, and for the log."""

    on: Annotated[tuple[SiteCause, ...], Items] = Field(  # type: ignore[assignment]
        ("failure", "unlike", "not_verified"),
        min_length=1,
        description=f"what it is called for: {_CAUSES}; not_verified: the log was not verified for log.verify_days, "
        "told once a day",
    )
