"""Charts as places on paper: what is drawn where, for the template that writes them as SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from pipeline.pages.axes import Axis, Tick, axis

WIDTH: Final = 380.0
HEIGHT: Final = 168.0
LEFT: Final = 46.0
RIGHT: Final = 12.0
TOP: Final = 22.0
BOTTOM: Final = 26.0
_GAP: Final = 0.12  # of a column's width


@dataclass(frozen=True)
class Column:
    """A column from `x`, `width` wide, up to `y`; `says` is read to who points at it; `alert`: it stands out."""

    x: float
    width: float
    y: float
    says: str
    alert: bool = False


@dataclass(frozen=True)
class Columns:
    """Columns side by side over an axis. `before`: the outline of what was before, as the places of an SVG path, empty
    for none; `floor`: the height of a line across."""

    title: str
    caption: str
    x: Axis
    y: Axis
    columns: tuple[Column, ...]
    before: str = ""
    floor: float | None = None


def pace_chart(start: int, seconds: int, counts: Sequence[int], caption: str) -> Columns:
    """Documents a minute over the time, of counts of equal times from `start` (seconds since 1970) on."""
    rates = [count * 60 / seconds for count in counts]
    y = axis([0.0, *rates], HEIGHT - BOTTOM, TOP)
    end = start + seconds * len(counts)
    # An axis of times of the day on this machine's clock, with ticks at round ones.
    most = max((end - start) / 5, 1)
    step = next((step for step in _STEPS if step >= most), _STEPS[-1])
    made = Axis(start, end, LEFT, WIDTH - RIGHT, ())
    first = -(-start // step) * step
    ticks = tuple(Tick(made.place(at), _clock(at, step)) for at in range(first, end + 1, step))
    x = Axis(start, end, LEFT, WIDTH - RIGHT, ticks)
    columns = tuple(
        _column(x, y, begin, begin + seconds, count * 60 / seconds, f"{_clock(begin)}: {count:,}")
        for begin, count in zip(range(start, end, seconds), counts, strict=True)
    )
    return Columns("documents a minute", caption, x, y, columns)


_STEPS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 14400, 21600)


def _clock(second: int, step: int = 1) -> str:
    return f"{datetime.fromtimestamp(second, UTC).astimezone():{'%H:%M' if step >= 60 else '%H:%M:%S'}}"


def histogram(counts: Sequence[int], before: Sequence[float], caption: str, title: str) -> Columns:
    """Counts of equal parts of 0 to 1; `before` are the counts that earlier nights let expect, empty for none."""
    y = axis([0.0, *map(float, counts), *before], HEIGHT - BOTTOM, TOP, least=1.0)
    x = axis((0.0, 1.0), LEFT, WIDTH - RIGHT)
    width = 1 / max(len(counts), 1)
    columns = tuple(
        _column(x, y, at * width, (at + 1) * width, count, f"{at * width:.2f} to {(at + 1) * width:.2f}: {count:,}")
        for at, count in enumerate(counts)
    )
    places = [(x.place(at * width), x.place((at + 1) * width), y.place(count)) for at, count in enumerate(before)]
    outline = " ".join(f"{'L' if at else 'M'}{a} {h}L{b} {h}" for at, (a, b, h) in enumerate(places))
    return Columns(title, caption, x, y, columns, outline)


def counts_chart(named: Sequence[tuple[str, float]], caption: str, title: str) -> Columns:
    """A count of each of some things in their order, of which some names are written."""
    y = axis([0.0, *(value for _, value in named)], HEIGHT - BOTTOM, TOP, least=1.0)
    x = _named_axis([name for name, _ in named])
    columns = tuple(_column(x, y, at, at + 1, value, f"{name}: {value:,.0f}") for at, (name, value) in enumerate(named))
    return Columns(title, caption, x, y, columns)


def nights_chart(nights: Sequence[tuple[str, float]], bound: float, caption: str, title: str) -> Columns:
    """A figure of each night, the last of them the one that is judged, against a bound."""
    y = axis([0.0, bound, *(value for _, value in nights)], HEIGHT - BOTTOM, TOP)
    x = _named_axis([name for name, _ in nights])
    columns = tuple(
        _column(x, y, at, at + 1, value, f"{name}: {value:.2f}", at == len(nights) - 1 and value > bound)
        for at, (name, value) in enumerate(nights)
    )
    return Columns(title, caption, x, y, columns, floor=y.place(bound))


def _named_axis(names: Sequence[str]) -> Axis:
    """An axis on which each name has the width of 1; at most six of them are written, the last one always."""
    made, every = Axis(0, len(names), LEFT, WIDTH - RIGHT, ()), -(-len(names) // 6)
    written = [(at, name) for at, name in enumerate(names) if (len(names) - 1 - at) % every == 0]
    ticks = tuple(Tick(made.place(at + 0.5), name) for at, name in written)
    return Axis(0, len(names), LEFT, WIDTH - RIGHT, ticks)


def _column(x: Axis, y: Axis, begin: float, end: float, value: float, says: str, alert: bool = False) -> Column:
    left, right = x.place(begin), x.place(end)
    gap = (right - left) * _GAP / 2
    return Column(round(left + gap, 2), round(right - left - 2 * gap, 2), y.place(value), says, alert)
