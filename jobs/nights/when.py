"""When a job runs: the keys of its schedule and of its window."""

import re
from datetime import time
from typing import Annotated

from pydantic import AfterValidator, Field

from jobs.nights.cron import find_zone, parse_cron
from jobs.section import RefusedValueError, Section, Text


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


class ScheduleConfig(Section):
    """When `cloister serve` starts the job."""

    cron: Annotated[Text, AfterValidator(_cron)] = Field(
        description="a cron line: minute hour day-of-month month day-of-week, or @daily and the like"
    )
    timezone: Annotated[Text, AfterValidator(_timezone)] = Field(
        description="the IANA time zone of the cron line, such as Europe/Berlin or UTC"
    )


class WindowConfig(Section):
    """Until when a run may compute."""

    until: Annotated[Text, AfterValidator(_time_of_day)] = Field(
        description="a time of day, in the time zone of the schedule, or of the machine for a job without one: a run "
        "starts no document that is not expected to be done by the first such time after its start"
    )

    @property
    def time(self) -> time:
        """The time of day."""
        return time.fromisoformat(self.until)

    def check_schedule(self, schedule: ScheduleConfig) -> None:
        """RefusedValueError where the window closes at the very minute of each start."""
        line, end = parse_cron(schedule.cron), self.time
        if line.hours == {end.hour} and line.minutes == {end.minute}:
            found = f"a window until {self.until} for a job that only starts at {self.until}: it excludes every start"
            raise RefusedValueError(
                found, "an end that is later than a start", "another time in one of the two", ("window", "until")
            )
