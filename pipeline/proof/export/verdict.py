"""The verdict of an export in sentences, which hold for a reader who sees the page alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.proof.export.answers import Fate
from pipeline.proof.export.summary import Summary
from pipeline.states import State


@dataclass(frozen=True)
class Verdict:
    """`first` is the sentence that counts most, `more` are those after it; `tone` is good, warn or bad."""

    first: str
    more: Sequence[str]
    tone: str


def verdict(about: Mapping[str, Any], summary: Summary, fates: Counter[Fate] | None) -> Verdict:
    """The verdict on the log as it was read for the export, and on the answers that its page shows."""
    size, records = about["size"], about["end"] - about["first"]
    here = "all of them are" if records == size else f"{records:,} of them are" if records else "none of them is"
    entries = f"{size:,} {_of(size, 'entry is the one', 'entries are those')} that its key signed"
    first = f"The log is whole: its {entries}; {here} told of here."
    other = fates[Fate.OTHER] if fates else 0
    said = (_documents(summary), _answers(fates), _private(summary), _accounts(summary))
    more = [sentence for sentence in said if sentence]
    gone = fates[Fate.GONE] if fates else 0
    return Verdict(first, more, "bad" if other else "warn" if gone else "good")


def _documents(summary: Summary) -> str:
    states: Counter[str] = Counter()
    for (_, state), count in summary.states.items():
        states[state] += count
    if not (total := states.total()):
        return "No document came to an end in this time."
    known = [state.value for state in State if states[state.value]]
    told = ", ".join(f"{states[name]:,} {name}" for name in [*known, *sorted(states.keys() - known)] if name)
    return f"{total:,} {_of(total, 'document', 'documents')} came to an end: {told}."


def _answers(fates: Counter[Fate] | None) -> str:
    if fates is None:
        return "Answers are not shown: the export was made without them."
    if not fates.total():
        return ""
    shown, gone, other = (fates[fate] for fate in Fate)
    told = f"{shown:,} {_of(shown, 'answer is', 'answers are')} shown, each the one that the log proves"
    if gone:
        told += f"; {gone:,} {_of(gone, 'is', 'are')} no longer kept"
    if other:
        told += f"; {other:,} {_of(other, 'row is', 'rows are')} not as the log proves, and not shown"
    return f"{told}."


def _private(summary: Summary) -> str:
    count = summary.private
    if not count:
        return ""
    of = f"{count:,} {_of(count, 'document is', 'documents are')} of private jobs"
    return f"{of}: the log has commitments in the place of their names, and their answers are not shown."


def _accounts(summary: Summary) -> str:
    accounts = len({(user, host) for user, host, _ in summary.people if host})
    people = len({user for user, host, _ in summary.people if not host})
    told = f"{accounts:,} {_of(accounts, 'account', 'accounts')} wrote to the log" if accounts else ""
    decided = f"; {people:,} {_of(people, 'person', 'people')} decided on rows" if people else ""
    return f"{told}{decided}." if told else ""


def _of(count: int, one: str, several: str) -> str:
    return one if count == 1 else several
