"""report.html of an export: a page of verdict and words first, then what happened, for people who print it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

from pipeline.pages import charts
from pipeline.pages.template import render_page
from pipeline.proof.export.answers import Fate
from pipeline.proof.export.summary import DECIDED, Summary, type_in_words
from pipeline.proof.export.verdict import Verdict, verdict
from pipeline.states import State

_TEMPLATE: Final = Path(__file__).with_name("report.html")
_MOST_DAYS: Final = 120  # columns of the chart


def write_report(path: Path, about: Mapping[str, Any], summary: Summary, fates: Counter[Fate] | None) -> None:
    """Write the page of an export: `about` it and the log, and what its records say; `fates` of the answers that it
    shows, None where none was asked for."""
    path.write_text(_page(about, summary, verdict(about, summary, fates)), encoding="utf-8")


def _page(about: Mapping[str, Any], summary: Summary, found: Verdict) -> str:
    return render_page(
        _TEMPLATE,
        title=f"Audit log of {about['origin']}",
        foot=f"Audit log of {about['origin']}",
        about=about,
        summary=summary,
        verdict=found,
        says=type_in_words,
        days=_days(summary),
        jobs=_jobs(summary),
        people=_people(summary),
        states=[state.value for state in State],
        width=charts.WIDTH,
        height=charts.HEIGHT,
    )


def _days(summary: Summary) -> charts.Columns | None:
    """Documents by day; None where they came on one day alone."""
    days = sorted(day for day in summary.days if _is_day(day))
    if len(days) < 2:
        return None
    first, last = date.fromisoformat(days[0]), date.fromisoformat(days[-1])
    width = -(-((last - first).days + 1) // _MOST_DAYS)
    counts: Counter[int] = Counter()
    for day in days:
        counts[(date.fromisoformat(day) - first).days // width] += summary.days[day]
    named = [(f"{first + timedelta(at * width):%m-%d}", float(counts[at])) for at in range(max(counts) + 1)]
    each = "a day" if width == 1 else f"each {width} days"
    return charts.counts_chart(named, f"Documents {each}, in UTC", "documents")


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _jobs(summary: Summary) -> Sequence[tuple[str, Mapping[str, int]]]:
    """Each job with how many of its documents ended in which state."""
    jobs: dict[str, dict[str, int]] = {}
    for (job, state), count in sorted(summary.states.items()):
        jobs.setdefault(job, {})[state] = count
    return list(jobs.items())


def _people(summary: Summary) -> Sequence[tuple[str, str, Sequence[tuple[str, int, str, str]]]]:
    """Each user on each host: what they wrote in words, how often, and when first and last; not what goes along with
    the rest."""
    people: dict[tuple[str, str], list[tuple[str, int, str, str]]] = {}
    for (user, host, kind), deeds in sorted(summary.people.items()):
        if not kind:
            continue
        action = kind.removeprefix(DECIDED)
        what = f"decided on a row: {action}" if action != kind else type_in_words(kind)
        people.setdefault((user, host), []).append((what, deeds.count, deeds.first, deeds.last))
    return [(user, host, done) for (user, host), done in people.items()]
