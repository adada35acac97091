"""Drawings of pages as places on paper, which templates write as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from math import floor, log10
from typing import Final

import pipeline

WIDTH: Final = 960.0
HEIGHT: Final = 170.0
_LEFT: Final = 44.0
_TOP: Final = 8.0
_BOTTOM: Final = 24.0
_LINES: Final = 3
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
class Tick:
    """A mark of an axis, and what it says."""

    at: float
    says: str


@dataclass(frozen=True)
class Columns:
    """Columns over a span of time, the failures on top of the others; `says` is all of it in a sentence."""

    bars: tuple[Bar, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    base: float
    says: str


def columns(found: Sequence[pipeline.Throughput], since: int, minutes: int, span: int) -> Columns | None:
    """How many rows came in each span of so many minutes, from `since` (minutes since 1970) on; None if none did."""
    most = max((sum(each.counts.values()) for each in found), default=0)
    if not most:
        return None
    step = _round_step(most / _LINES)
    top = step * -(-most // step)
    base, high = HEIGHT - _BOTTOM, HEIGHT - _BOTTOM - _TOP
    width = (WIDTH - _LEFT) * span / minutes
    bars = list[Bar]()
    for each in found:
        x = _LEFT + (WIDTH - _LEFT) * (each.start / 60 - since) / minutes
        failed = each.counts.get(pipeline.State.FAILED, 0)
        other = sum(each.counts.values()) - failed
        says = f"{_clock(each.start)}: {other:,} answered" + (f", {failed:,} failed" if failed else "")
        y = base
        for number, bad in ((other, False), (failed, True)):
            if number:
                y -= high * number / top
                bars.append(_bar(x, y, width, high * number / top, bad, says))
    ticks = tuple(Tick(round(base - high * at / top, 1), f"{at:,.0f}") for at in _steps(step, top))
    whole = sum(sum(each.counts.values()) for each in found)
    says = f"{whole:,} rows in {minutes // 60} hours, at most {most:,} in {span} minutes."
    return Columns(tuple(bars), _hours(since, minutes), ticks, base, says)


def _bar(x: float, y: float, width: float, height: float, bad: bool, says: str) -> Bar:
    return Bar(round(x, 1), round(y, 1), round(max(width - 1, 1), 1), round(max(height, 0.5), 1), bad, says)


def _steps(step: float, top: float) -> list[float]:
    return [step * number for number in range(int(top / step) + 1)]


def _hours(since: int, minutes: int) -> tuple[Tick, ...]:
    """A tick for every third full hour of this machine's clock."""
    ticks = list[Tick]()
    for minute in range(-(-since // 60) * 60, since + minutes, 60):
        moment = datetime.fromtimestamp(minute * 60).astimezone()
        if moment.hour % _HOURS == 0:
            at = _LEFT + (WIDTH - _LEFT) * (minute - since) / minutes
            ticks.append(Tick(round(at, 1), f"{moment:%H:%M}"))
    return tuple(ticks)


def _clock(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%a %H:%M}"


def _round_step(step: float) -> float:
    """The least of 1, 2, 5, 10 times a power of ten that is no less than this, and no less than 1."""
    power = 10.0 ** floor(log10(max(step, 1)))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))
