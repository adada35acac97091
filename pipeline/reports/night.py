"""A night as its report tells of it: frozen facts, and the sentences that follow from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pipeline.pages.text import one_line
from pipeline.records.types import Shares
from pipeline.reports.drift import Compared, Counts, compare
from pipeline.reports.rows import ShownRow
from pipeline.reports.shares import BINS
from pipeline.states import State

NIGHTS: Final = 14
"""Earlier nights with which a night is compared, at most."""
_KIND: Final = 60  # characters
_WORDS: Final = {"states": "how documents ended", "labels": "the answers", "scores": "the scores"}


@dataclass(frozen=True)
class Drift:
    """Holds what was compared with the nights before (states, labels or scores), and what came of it."""

    what: str
    found: Compared

    @property
    def words(self) -> str:
        """Return what was compared, in words."""
        return _WORDS[self.what]

    @property
    def sentence(self) -> str:
        """Return what is unlike the nights before, in one sentence."""
        was, now = (f"{100 * share:.0f} %" for share in (self.found.was, self.found.now))
        return f"{self.plain}: {self.kind} {now} instead of {was}"

    @property
    def plain(self) -> str:
        """Return what is unlike the nights before, without how."""
        what = f"{self.words[0].upper()}{self.words[1:]}"
        return f"{what} {'is' if self.what == 'states' else 'are'} unlike the nights before"

    @property
    def kind(self) -> str:
        """Return what changed most."""
        if self.what == "scores" and self.found.kind:
            at = int(self.found.kind)
            return f"scores of {at / BINS:.2f} to {(at + 1) / BINS:.2f}"
        return one_line(self.found.kind, _KIND) or "what is rare otherwise"


@dataclass(frozen=True)
class Night:
    """The night of a job. `earlier`: date -> shares of the nights before, of the same settings, oldest first; `others`:
    how many nights before were of other settings. `waiting`: files that the last run left, because it was `stopped`,
    its window had closed, or they were not ready; `ignored`: files that are no documents for the job, or were done
    before. None where the last run of the night did not come to its end. `notes`: what else a reader should know."""

    job: str
    task: str
    night: str
    shares: Shares
    failed: Sequence[ShownRow]
    look: Sequence[ShownRow]
    uncertain: Sequence[ShownRow]
    earlier: Mapping[str, Shares]
    others: int
    waiting: int | None
    ignored: int | None
    known: int
    stopped: bool
    model: str
    software: str
    private: bool
    notes: Sequence[str] = ()
    window_closed: bool = False

    def count(self, *states: State) -> int:
        """Documents that ended in one of these states."""
        return sum(self.shares.states.get(state, 0) for state in states)

    @property
    def total(self) -> int:
        """Documents that came to an end."""
        return sum(self.shares.states.values())

    @property
    def person(self) -> int:
        """Documents that need a person: they failed, or their answer is not sure."""
        return self.count(State.FAILED, State.REVIEW, State.ABSTAINED)

    @property
    def verdict(self) -> str:
        """The verdict in one sentence."""
        total, failed, copies = self.total, self.count(State.FAILED), self.count(State.DUPLICATE)
        if copies == total:
            came = _times(total, "document came again and was known", "documents came again and were known")
            return f"{came}; there was nothing new to answer."
        new, done = total - copies, self.count(State.DONE)
        if done == new:
            all_of = "The one document was" if new == 1 else f"All {new:,} documents were"
            return f"{all_of} answered; none needs a person."
        look = self.count(State.REVIEW, State.ABSTAINED)
        parts = [f"{look:,} to look at"] * bool(look) + [f"{failed:,} failed"] * bool(failed)
        need = f"{self.person:,} {'needs' if self.person == 1 else 'need'} a person: {', '.join(parts)}"
        return f"{done:,} of {_times(new, 'document')} {_was(done)} answered; {need}."

    @property
    def more(self) -> Sequence[str]:
        """Return what else is to be said at once."""
        said = []
        if 0 < (copies := self.count(State.DUPLICATE)) < self.total:
            came = "was a copy of a document that is" if copies == 1 else "were copies of documents that are"
            said.append(f"{copies:,} more {came} known already.")
        if self.waiting:
            said.append(f"{self._why_waiting}: {_times(self.waiting, 'file')} {_is(self.waiting)} still waiting.")
        return [*said, *self.notes]

    @property
    def _why_waiting(self) -> str:
        if self.window_closed:
            return "The window of the last run closed before all was done"
        return "The last run was stopped before it was done" if self.stopped else "Not all was ready"

    @property
    def tone(self) -> str:
        """How the verdict is drawn: good, warn or bad."""
        if self.total and 2 * self.count(State.FAILED) > self.total:
            return "bad"
        return "warn" if self.person or self.waiting or self.warnings else "good"

    @property
    def drifts(self) -> Sequence[Drift]:
        """Return what could be compared with the nights before."""
        pairs = ((what, compare(_counts(self.shares, what), self._before(what))) for what in _WORDS)
        return [Drift(what, found) for what, found in pairs if found]

    @property
    def warnings(self) -> Sequence[Drift]:
        """Return what is unlike the nights before."""
        return [drift for drift in self.drifts if drift.found.unlike]

    @property
    def unlike(self) -> Sequence[str]:
        """Return what is unlike the nights before, in sentences for others than those who may see the answers: of a
        private job they name none."""
        if self.private:
            return [f"{drift.plain}." for drift in self.warnings]
        return [f"{drift.sentence}." for drift in self.warnings]

    def _before(self, what: str) -> list[Counts]:
        return [_counts(shares, what) for shares in self.earlier.values()]


def _counts(shares: Shares, what: str) -> Counts:
    """The counts that are compared: copies say nothing of a night, and scores are named by their twentieth."""
    if what == "states":
        return {name: count for name, count in shares.states.items() if name != State.DUPLICATE}
    if what == "labels":
        return shares.labels
    return {f"{at:02d}": count for at, count in enumerate(shares.scores) if count}


def _times(count: int, one: str, several: str = "") -> str:
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
