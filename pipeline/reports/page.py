"""The report of a night as one HTML page: what it shows, for the template that says how."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final

from pipeline.errors import Failure
from pipeline.pages import charts
from pipeline.pages.template import render_page
from pipeline.pages.text import one_line
from pipeline.reports.drift import LEAST, NIGHTS
from pipeline.reports.night import Drift, Night
from pipeline.reports.rows import ShownRow, original_of
from pipeline.reports.shares import OTHERS
from pipeline.states import State

_TEMPLATE: Final = Path(__file__).with_name("night.html")
_LABELS: Final = 12
_NAME: Final = 60  # characters
_PLOTTED: Final = 2
"""Equal times that there must be before a plot says more than a sentence."""


@dataclass(frozen=True)
class Bar:
    """A kind of answer or failure: how many, which share of all, and which share in the nights before (None: no such
    nights)."""

    name: str
    count: int
    share: float
    before: float | None


def page(night: Night, root: Path) -> str:
    """The page as HTML. Originals below `root` are linked from where the page lies, in outbox/JOB/_reports/."""
    return render_page(
        _TEMPLATE,
        title=f"{night.job}, night of {night.night}",
        foot=f"Cloister · {night.job} · night of {night.night}",
        night=night,
        evening=f"{date.fromisoformat(night.night):%A, %-d %B %Y}",
        pace=_pace(night),
        speed=speed(night),
        scores=_scores(night),
        drift=_drift(night),
        labels=bars(night, "labels"),
        failures=bars(night, "failures"),
        remedies=[(name, Failure(name).sentence, Failure(name).remedy) for name in sorted(night.shares.failures)],
        lists=_lists(night, root),
        few=NIGHTS,
        least=LEAST,
        width=charts.WIDTH,
        height=charts.HEIGHT,
        State=State,
    )


def speed(night: Night) -> str:
    """How long the runs took, and how fast that was, in words."""
    seconds, runs = night.shares.seconds, night.shares.runs
    if seconds <= 0:
        return f"{runs:,} {'run' if runs == 1 else 'runs'}"
    rate = night.total * 60 / seconds
    return f"{runs:,} {'run' if runs == 1 else 'runs'}, {_duration(seconds)}, {rate:,.0f} documents a minute"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:,.0f} s"
    return f"{seconds / 60:,.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def bars(night: Night, what: str) -> Sequence[Bar]:
    """The commonest labels with their share of the documents that are done, or all failures with theirs of what failed;
    what is not listed is the last one, with an empty name."""
    counts = dict(getattr(night.shares, what))
    of = State.DONE if what == "labels" else State.FAILED
    total, before = night.count(of), sum(shares.states.get(of, 0) for shares in night.earlier.values())
    others = counts.pop(OTHERS, 0)
    names = sorted(counts, key=lambda name: (-counts[name], name))
    others += sum(counts[name] for name in names[_LABELS:])
    seen = [
        Bar(
            one_line(name, _NAME),
            counts[name],
            counts[name] / total,
            _before(night, what, name) / before if before else None,
        )
        for name in names[:_LABELS]
    ]
    return [*seen, Bar(OTHERS, others, min(others / total, 1.0), None)] if others else seen


def _before(night: Night, what: str, name: str) -> int:
    return sum(getattr(shares, what).get(name, 0) for shares in night.earlier.values())


def _pace(night: Night) -> charts.Columns | None:
    pace = night.shares.pace
    if len(pace.counts) < _PLOTTED:
        return None
    each = f"{pace.seconds} s" if pace.seconds < 120 else f"{pace.seconds / 60:.0f} min"
    return charts.pace_chart(
        pace.start, pace.seconds, pace.counts, f"Throughput; a column is {each}, times are those of this machine"
    )


def _scores(night: Night) -> charts.Columns | None:
    if not (total := sum(night.shares.scores)):
        return None
    pooled = [sum(each) for each in zip(*(s.scores for s in night.earlier.values() if s.scores), strict=True)]
    before = [count * total / sum(pooled) for count in pooled] if sum(pooled) else []
    caption = "Scores of the answers; of several values in an answer the least certain one"
    return charts.histogram(
        night.shares.scores, before, caption + ("; line: the nights before" if before else ""), "documents by score"
    )


def _drift(night: Night) -> charts.Columns | None:
    """The nights by that comparison which is most to be looked at."""
    drifts = night.drifts
    if not drifts:
        return None
    shown = max(drifts, key=lambda drift: (drift.found.unlike, drift.found.deviation))
    return _nights(night, shown)


def _nights(night: Night, drift: Drift) -> charts.Columns:
    before = zip(night.earlier, drift.found.before, strict=True)
    each = [(name[5:], value) for name, value in before if value is not None]
    caption = f"How far {drift.words} were from the average night; beyond the dashed line it may matter"
    return charts.nights_chart([*each, (night.night[5:], drift.found.index)], LEAST, caption, "distance of nights")


def _lists(night: Night, root: Path) -> Sequence[tuple[str, str, Sequence[tuple[ShownRow, str | None]], int]]:
    """The lists of rows: title, what it says, each row with the link to its original, and how many are not listed."""
    look = night.count(State.REVIEW, State.ABSTAINED)
    lists: tuple[tuple[str, str, Sequence[ShownRow], int], ...] = (
        ("Failed", "These got no answer. What to do stands below the table.", night.failed, night.count(State.FAILED)),
        ("To look at", "The answer is not sure enough, or the document may hide something.", night.look, look),
        ("Least certain answers", "These were answered; if some of them are wrong, it is most likely the first ones.",
         night.uncertain, len(night.uncertain)),
    )  # fmt: skip
    return [
        (title, says, [(row, original_of(root, row)) for row in rows], max(total - len(rows), 0))
        for title, says, rows, total in lists
        if rows
    ]
