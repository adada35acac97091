"""Axes with round numbers, for plots that are written as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Final

_TICKS: Final = 5


@dataclass(frozen=True)
class Tick:
    """A mark of an axis: its place, and what it says."""

    at: float
    label: str


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high`, drawn from `begin` to `end`."""

    low: float
    high: float
    begin: float
    end: float
    ticks: tuple[Tick, ...]

    def place(self, value: float) -> float:
        """The place of a value."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 2)


def axis(values: Sequence[float], begin: float, end: float, low: float | None = None, least: float = 0.0) -> Axis:
    """An axis with round ticks on which all values lie; `low`: where it begins at the latest; no two ticks are nearer
    than `least`."""
    bottom, most = min([*values, *([low] if low is not None else [])]), max(values)
    if bottom == most:
        room = (abs(bottom) or 1) / 10
        bottom, most = bottom - room, most if most == 1 else most + room  # a share of 1 is as much as there can be
    step = max(_round_step((most - bottom) / _TICKS), least)
    first, last = floor(bottom / step), -floor(-most / step)
    ticks = [count * step for count in range(first, last + 1)]
    made = Axis(first * step, last * step, begin, end, ())
    digits = max(0, -floor(log10(step)))
    return Axis(made.low, made.high, begin, end, tuple(Tick(made.place(t), f"{t:,.{digits}f}") for t in ticks))


def _round_step(step: float) -> float:
    """The least of 1, 2, 5, 10 times a power of ten that is no less than this."""
    power = 10.0 ** floor(log10(step))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= step * (1 - 1e-9))
