"""The report of a qualification as one HTML page without scripts, links or other files, which prints well."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipeline.pages.axes import Axis, axis
from pipeline.pages.template import render_page
from pipeline.quality.qualify import Measured, Qualification
from pipeline.tasks import TASKS
from pipeline.tasks.judging import DRAWS, Calibration, Confusion, Figure

_MOST_CELLS: Final = 24
"""Labels up to which the whole confusion fits on a page; of more, the commonest mistakes are listed."""
_MISTAKES: Final = 40


def write_page(path: Path, found: Qualification, made: str) -> None:
    """Put the page in place, whole or not at all; `made` says when and by what. OSError."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        partial.write_text(page(found, made), encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def page(found: Qualification, made: str) -> str:
    """The page as HTML."""
    title = f"Quality of {found.job}"
    template = Path(__file__).with_name("report.html")
    return render_page(template, title=title, foot=title, **_shown(found), found=found, made=made)


def _shown(found: Qualification) -> dict[str, Any]:
    """Return the variables of the template beside the qualification itself: drawings, lists and words."""
    own, compared, task = found.measured[0].judgement, found.compared, TASKS[found.task]
    floor = found.floor.get(compared)
    several = len(found.measured) > 1
    wanted = [name for name in task.measures if name != compared]
    bars = [intervals(found.measured, name, found.floor.get(name)) for name in (compared, *wanted)]
    return {
        "words": task.figures,
        "draws": DRAWS,
        "bars": [one for one in bars if one],
        "scatters": [scatter(found.measured, compared, floor, by) for by in ("speed", "size")] if several else [],
        "curves": [(one, curve(one.judgement.calibration)) for one in found.measured if one.judgement.calibration],
        "width": WIDTH,
        "height": HEIGHT,
        "matrix": own.confusion if own.confusion and len(own.confusion.labels) <= _MOST_CELLS else None,
        "mistakes": mistakes(own.confusion) if own.confusion else [],
    }


def mistakes(confusion: Confusion) -> Sequence[tuple[str, str, int]]:
    """The commonest mistakes: the label of documents, the one they got, how often."""
    names = (*confusion.labels, "no label")
    wrong = [
        (count, row, column)
        for row, counts in enumerate(confusion.counts)
        for column, count in enumerate(counts)
        if count and row != column
    ]
    order = sorted(wrong, key=lambda one: (-one[0], one[1:]))[:_MISTAKES]
    return [(names[row], names[column], count) for count, row, column in order]


WIDTH: Final = 360.0
HEIGHT: Final = 230.0
LEFT: Final = 46.0
TOP: Final = 26.0  # room for the name of the upright axis above the points
RIGHT: Final = 26.0  # and for half of the last mark of the other one
BOTTOM: Final = 38.0
_ROW: Final = 22.0
_NAMES: Final = 180.0


@dataclass(frozen=True)
class Point:
    """A point with its name; `marked`: it is drawn full."""

    x: float
    y: float
    size: float
    marked: bool
    label: str


@dataclass(frozen=True)
class Plot:
    """A plot with its axes, points and lines; `floor`: the height of a line across."""

    title: str
    x: Axis
    y: Axis
    x_label: str
    y_label: str
    points: tuple[Point, ...]
    line: tuple[tuple[float, float], ...] = ()
    floor: float | None = None


@dataclass(frozen=True)
class Bar:
    """A figure with its interval: where its value, low and high are."""

    label: str
    y: float
    value: float
    low: float
    high: float
    told: str


@dataclass(frozen=True)
class Bars:
    """Figures with their intervals below one another."""

    title: str
    x: Axis
    bars: tuple[Bar, ...]
    height: float
    floor: float | None


def scatter(measured: Sequence[Measured], compared: str, floor_at: float | None, by: str) -> Plot:
    """Quality against documents an hour (`by` "speed") or the size of the files in MiB ("size")."""
    values = [one.figure(compared).value or 0.0 for one in measured]
    across = [one.documents_an_hour if by == "speed" else one.bytes / 2**20 for one in measured]
    x = axis(across, LEFT, WIDTH - RIGHT, low=0.0)
    y = axis([*values, *([floor_at] if floor_at is not None else [])], HEIGHT - BOTTOM, TOP)
    points = tuple(
        Point(x.place(a), y.place(v), 4.0, one.frontier, str(number))
        for number, (one, a, v) in enumerate(zip(measured, across, values, strict=True), 1)
    )
    edge = sorted((point.x, point.y) for point in points if point.marked)
    x_label = "documents an hour" if by == "speed" else "model and head, MiB"
    title = f"{compared} and {'speed' if by == 'speed' else 'size'}"
    return Plot(title, x, y, x_label, compared, points, tuple(edge), None if floor_at is None else y.place(floor_at))


def curve(found: Calibration) -> Plot:
    """The calibration curve: the share that is right by the mean score of each bin, larger for more answers."""
    x, y = axis((0.0, 1.0), LEFT, WIDTH - RIGHT), axis((0.0, 1.0), HEIGHT - BOTTOM, TOP)
    most = max(one.answers for one in found.bins)
    points = tuple(
        Point(x.place(one.score), y.place(one.right), round(2 + 6 * (one.answers / most) ** 0.5, 2), True, "")
        for one in found.bins
    )
    diagonal = ((x.place(0), y.place(0)), (x.place(1), y.place(1)))
    return Plot("calibration", x, y, "score", "share that is right", points, diagonal)


def intervals(measured: Sequence[Measured], name: str, floor_at: float | None) -> Bars | None:
    """A figure of all that were measured, with its interval; None where it could not be measured."""
    known = [(one.name, figure) for one in measured if (figure := one.figure(name)).value is not None]
    ends = [end for _, figure in known for end in (figure.low, figure.high) if end is not None]
    if not ends:
        return None
    x = axis([*ends, *([floor_at] if floor_at is not None else [])], _NAMES, WIDTH * 2 - 90)
    bars = tuple(_bar(x, index, label, figure) for index, (label, figure) in enumerate(known))
    return Bars(name, x, bars, _ROW * len(bars) + 34, None if floor_at is None else x.place(floor_at))


def _bar(x: Axis, index: int, label: str, figure: Figure) -> Bar:
    value, low, high = figure.value or 0.0, figure.low or 0.0, figure.high or 0.0
    return Bar(label, _ROW * index + 14, x.place(value), x.place(low), x.place(high), f"{value:.3f}")
