"""Drawings of pages as places on paper, which templates write as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import pipeline

WIDTH: Final = 960.0
HEIGHT: Final = 170.0
_LEFT: Final = 44.0
_TOP: Final = 8.0
_BOTTOM: Final = 24.0
_HOURS: Final = 3


@dataclass(frozen=True)
class Bar:
    """A column of the drawing; `bad`: it stands for failures. `says` is what it shows, in words."""

    x: float
    y: float
    width: float
    height: float
    bad: bool
    says: str


@dataclass(frozen=True)
class Columns:
    """Columns over a span of time, the failures on top of the others; `says` is all of it in a sentence."""

    bars: tuple[Bar, ...]
    across: tuple[pipeline.Tick, ...]
    up: tuple[pipeline.Tick, ...]
    base: float
    says: str


def columns(found: Sequence[pipeline.Throughput], since: int, minutes: int, span: int) -> Columns | None:
    """How many rows came in each span of so many minutes, from `since` (minutes since 1970) on; None if none did."""
    most = max((sum(each.counts.values()) for each in found), default=0)
    if not most:
        return None
    base = HEIGHT - _BOTTOM
    up = pipeline.axis([0.0, most], base, _TOP, least=1.0)
    width = (WIDTH - _LEFT) * span / minutes
    bars = list[Bar]()
    for each in found:
        x = _LEFT + (WIDTH - _LEFT) * (each.start / 60 - since) / minutes
        failed = each.counts.get(pipeline.State.FAILED, 0)
        other = sum(each.counts.values()) - failed
        says = f"{_clock(each.start)}: {other:,} answered" + (f", {failed:,} failed" if failed else "")
        for below, number, bad in ((0, other, False), (other, failed, True)):
            if number:
                y = up.place(below + number)
                bars.append(_bar(x, y, width, up.place(below) - y, bad, says))
    whole = sum(sum(each.counts.values()) for each in found)
    says = f"{whole:,} rows in {minutes // 60} hours, at most {most:,} in {span} minutes."
    return Columns(tuple(bars), _hours(since, minutes), up.ticks, base, says)


def _bar(x: float, y: float, width: float, height: float, bad: bool, says: str) -> Bar:
    return Bar(round(x, 1), round(y, 1), round(max(width - 1, 1), 1), round(max(height, 0.5), 1), bad, says)


def _hours(since: int, minutes: int) -> tuple[pipeline.Tick, ...]:
    """A tick for every third full hour of this machine's clock."""
    ticks = list[pipeline.Tick]()
    for minute in range(-(-since // 60) * 60, since + minutes, 60):
        moment = datetime.fromtimestamp(minute * 60).astimezone()
        if moment.hour % _HOURS == 0:
            at = _LEFT + (WIDTH - _LEFT) * (minute - since) / minutes
            ticks.append(pipeline.Tick(round(at, 1), f"{moment:%H:%M}"))
    return tuple(ticks)


def _clock(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%a %H:%M}"
