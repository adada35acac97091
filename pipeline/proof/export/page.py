"""report.html of an export: a page of verdict and words first, then what happened, for people who print it."""

import contextlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import audit
from pipeline.errors import BadPartError
from pipeline.outbox.results import rows_numbered
from pipeline.outbox.schema import result_sha256
from pipeline.pages import charts
from pipeline.pages.template import render_page
from pipeline.plan import Site
from pipeline.proof.export.summary import DECIDED, Summary, type_in_words
from pipeline.reports.rows import answer_of
from pipeline.states import ANSWERED, State

_ANSWER: Final = 400  # characters


class Fate(StrEnum):
    """Holds what became of the answer of a document that is listed."""

    SHOWN = "shown"
    GONE = "gone"
    OTHER = "other"


def add_answers(site: Site, documents: list[dict[str, Any]]) -> Counter[Fate]:
    """Put `answer` into each document that has one and whose entry says where its row is; count what became of them.

    Entries of private jobs have commitments there, so nothing of theirs is looked for."""
    wanted: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for document in documents:
        part, sha256 = document["proved"]["part"], document["proved"]["result_sha256"]
        if document["state"] in ANSWERED and _is_told(part) and _is_told(sha256):
            wanted[part][document["n"]] = document
    fates: Counter[Fate] = Counter()
    for part, entries in wanted.items():
        found = _found(site, part, entries)
        for n, document in entries.items():
            fate = found.get(n, Fate.GONE)
            fates[fate] += 1
            document["fate"] = fate.value
    return fates


def _found(site: Site, part: str, entries: dict[int, dict[str, Any]]) -> dict[int, Fate]:
    """Read the rows of a part, and give each document its answer if the row is the one that its entry proves."""
    found: dict[int, Fate] = {}
    try:
        for row in rows_numbered(site.at_rest, site.root / part, entries):
            document, is_same = entries[row.audit_index], False
            with contextlib.suppress(LookupError, TypeError, ValueError, AttributeError):  # not as we write rows
                is_same = result_sha256(row) == document["proved"]["result_sha256"]
            found[row.audit_index] = Fate.SHOWN if is_same else Fate.OTHER
            if is_same:
                document["answer"] = answer_of(row, _ANSWER, doubtful_first=False)
    except BadPartError:
        found |= dict.fromkeys(entries.keys() - found.keys(), Fate.OTHER)
    except OSError:
        pass  # what is no longer there is told as gone
    return found


def _is_told(value: Any) -> bool:
    return isinstance(value, str) and not audit.is_commitment(value)


_TEMPLATE: Final = Path(__file__).with_name("report.html")
_MOST_DAYS: Final = 120  # columns of the chart


def write_report(path: Path, about: Mapping[str, Any], summary: Summary, fates: Counter[Fate] | None) -> None:
    """Write the page of an export: `about` it and the log, and what its records say; `fates` of the answers that it
    shows, None where none was asked for."""
    jobs: dict[str, dict[str, int]] = {}
    for (job, state), count in sorted(summary.states.items()):
        jobs.setdefault(job, {})[state] = count
    title = f"Audit log of {about['origin']}"
    page = render_page(
        _TEMPLATE, title=title, foot=title, about=about, summary=summary, verdict=verdict(about, summary, fates),
        says=type_in_words, days=_days(summary), jobs=list(jobs.items()), people=_people(summary),
        states=[state.value for state in State], width=charts.WIDTH, height=charts.HEIGHT,
    )  # fmt: skip
    path.write_text(page, encoding="utf-8")


def _days(summary: Summary) -> charts.Columns | None:
    """Documents by day; None where they came on one day alone."""
    days = list[str]()
    for day in sorted(summary.days):
        with contextlib.suppress(ValueError):
            date.fromisoformat(day)
            days.append(day)
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


@dataclass(frozen=True)
class Verdict:
    """`first` is the sentence that counts most, `more` are those after it; `tone` is good, warn or bad."""

    first: str
    more: Sequence[str]
    tone: str


def verdict(about: Mapping[str, Any], summary: Summary, fates: Counter[Fate] | None) -> Verdict:
    """The verdict on the log as it was read for the export, and on the answers that its page shows, in sentences which
    hold for a reader who sees the page alone."""
    size, records = about["size"], about["end"] - about["first"]
    here = "all of them are" if records == size else f"{records:,} of them are" if records else "none of them is"
    entries = f"{size:,} {_of(size, 'entry is the one', 'entries are those')} that its key signed"
    first = f"The log is whole: its {entries}; {here} told of here."
    states: Counter[str] = Counter()
    for (_, state), count in summary.states.items():
        states[state] += count
    known = [state.value for state in State if states[state.value]]
    told = ", ".join(f"{states[name]:,} {name}" for name in [*known, *sorted(states.keys() - known)] if name)
    more = ["No document came to an end in this time."]
    if total := states.total():
        more = [f"{total:,} {_of(total, 'document', 'documents')} came to an end: {told}."]
    shown, gone, other = (fates[fate] if fates else 0 for fate in Fate)
    if fates is None:
        more.append("Answers are not shown: the export was made without them.")
    elif fates.total():
        told = f"{shown:,} {_of(shown, 'answer is', 'answers are')} shown, each the one that the log proves"
        told += f"; {gone:,} {_of(gone, 'is', 'are')} no longer kept" if gone else ""
        told += f"; {other:,} {_of(other, 'row is', 'rows are')} not as the log proves, and not shown" if other else ""
        more.append(f"{told}.")
    if count := summary.private:
        of = f"{count:,} {_of(count, 'document is', 'documents are')} of private jobs"
        more.append(f"{of}: the log has commitments in the place of their names, and their answers are not shown.")
    accounts = len({(user, host) for user, host, _ in summary.people if host})
    people = len({user for user, host, _ in summary.people if not host})
    decided = f"; {people:,} {_of(people, 'person', 'people')} decided on rows" if people else ""
    if accounts:
        more.append(f"{accounts:,} {_of(accounts, 'account', 'accounts')} wrote to the log{decided}.")
    return Verdict(first, more, "bad" if other else "warn" if gone else "good")


def _of(count: int, one: str, several: str) -> str:
    return one if count == 1 else several
