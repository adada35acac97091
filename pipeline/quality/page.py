"""The report of a qualification as one HTML page without scripts, links or other files, which prints well."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pipeline.pages.template import render_page
from pipeline.quality import plots
from pipeline.quality.qualify import Qualification
from pipeline.tasks import TASKS
from pipeline.tasks.judging import DRAWS, Confusion

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
    bars = [plots.intervals(found.measured, name, found.floor.get(name)) for name in (compared, *wanted)]
    return {
        "words": task.figures,
        "draws": DRAWS,
        "bars": [one for one in bars if one],
        "scatters": [plots.scatter(found.measured, compared, floor, by) for by in ("speed", "size")] if several else [],
        "curves": [
            (one, plots.curve(one.judgement.calibration)) for one in found.measured if one.judgement.calibration
        ],
        "width": plots.WIDTH,
        "height": plots.HEIGHT,
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
