"""Answer the documents of a run, and commit their rows part by part."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from pipeline.document import Row
from pipeline.inbox.decide import OVERTAKEN, Decisions, still_holds
from pipeline.inbox.feed import Feed
from pipeline.inbox.find import Found
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Ended, Work, ended_row
from pipeline.inbox.reader import Reader
from pipeline.outbox.commit import Committer
from pipeline.outbox.provenance import maker
from pipeline.outbox.recover import clear_staging
from pipeline.records.settings import label
from pipeline.report import COMPUTING, READING, Observer
from pipeline.stages.ahead import Ahead
from pipeline.stages.begin import Ready
from pipeline.stages.close import Tally
from pipeline.stages.open import Opened
from pipeline.stages.window import Window
from pipeline.states import State

EVERY_SECONDS: Final = 10.0


@dataclass
class Inside:
    """Tells the observer, of a `private` run without the document's name. `clock` counts seconds.

    Threads that read documents call `reads`; only the run's own thread does anything else with it.
    """

    observer: Observer
    private: bool
    clock: Callable[[], float] = time.monotonic
    _pages: dict[str, tuple[int, int]] = field(default_factory=dict)  # staging -> pages that are read, of how many
    _last: float = field(init=False)  # when a document ended, or it was told how far one is

    def __post_init__(self) -> None:
        self._last = self.clock()

    def reads(self, arrival: Arrival, done: int, of: int) -> None:
        """Hear how many pages of a document are read."""
        self._pages[arrival.staging or ""] = (done, of)

    def waits_for(self, arrival: Arrival) -> None:
        """The run waits until the document is read."""
        if (pages := self._pages.get(arrival.staging or "")) and self._is_due():
            name = None if self.private else arrival.path
            self.observer.note(READING, document=name, pages=pages[0], of=pages[1])

    def computes(self, done: int, of: int) -> bool:
        """The model has worked on `done` tokens of a batch, `of` so many, 0 where nobody knows; whether it was told."""
        if not self._is_due():
            return False
        self.observer.note(COMPUTING, tokens=done, of=of or None)
        return True

    def ended(self, arrival: Arrival) -> None:
        """A document has come to its end."""
        self._pages.pop(arrival.staging or "", None)
        self._last = self.clock()

    def _is_due(self) -> bool:
        if due := self.clock() - self._last >= EVERY_SECONDS:
            self._last = self.clock()
        return due


_LONG_BATCH = 200_000  # tokens: some ten seconds, of which the observer is told


def answer(opened: Opened, found: Found, ready: Ready | None, window: Window, ahead: Ahead) -> Tally:
    """Answer the documents that were found, as far as the window lets. Without `ready` they are all left pending."""
    tally = Tally(found, opened.observer)
    if ready:
        with _tidied(opened.committer):
            plan, pool = opened.plan, ready.pool
            opened.committer.maker = maker(plan, opened.job_digest, ready.model, pool.describe(), ready.tesseract)
            inside = Inside(opened.observer, plan.private)
            reader = Reader(plan, ready.reading, ready.unread, window, inside.reads)
            decisions = Decisions(plan, opened.history)
            feed = Feed(plan, decisions, reader, ready.readers, tally.expect, ready.threads, inside.waits_for)
            loop = _Loop(opened, tally, window, ahead, inside)
            window.hands = ready.hands
            ahead.begin()
            with contextlib.suppress(_StoppedError):
                items = window.let_in(feed(tally.found.sources, window), ready.tokens)
                for group in ready.answers(items, loop.pulse, review_hidden=plan.input.hidden == "review"):
                    loop.take(group)
            loop.commit_all()
    tally.end(window_closed=window.ended_the_run)
    if tally.window_closed:
        opened.observer.note("window closed", until=str(window.until), left=tally.left)
    return tally


@contextlib.contextmanager
def _tidied(committer: Committer) -> Iterator[None]:
    """Whatever ends the run, what was staged in vain goes at once: on a full disk the next start needs the room."""
    try:
        yield
    finally:
        if not committer.placing:
            clear_staging(committer.plan.outbox, committer.plan.archive)


class _StoppedError(Exception):
    """The run is to stop, and a batch is not finished: its documents stay pending."""


@dataclass
class _Loop:
    """Gathers rows into parts. `failed`: document -> its row, of those that were computed in vain."""

    opened: Opened
    tally: Tally
    window: Window
    ahead: Ahead
    inside: Inside
    rows: list[tuple[Row, Arrival]] = field(default_factory=list)
    failed: dict[str, Row] = field(default_factory=dict)
    last_commit: float = field(default_factory=time.monotonic)
    told: int = 0  # tenths of a long batch that the observer knows of

    def pulse(self, done: int, total: int) -> None:
        """Hear how many tokens of a batch are computed; raises _StoppedError where the run gives up the batch."""
        if self.window.gives_back():
            raise _StoppedError
        tenths = 10 * done // max(total, 1)
        told = self.inside.computes(done, total)
        if not told and total >= _LONG_BATCH and tenths != self.told:
            self.opened.observer.note(COMPUTING, tokens=done, of=total)
        self.told = tenths
        if told and total:
            self.opened.observer.expects(self.ahead.seconds_left(self.tally.ended, done / total))

    def take(self, group: list[tuple[Work | Ended, Row | None]]) -> None:
        """Take documents that have ended, with the rows of those that were answered; commit if it is time."""
        for item, answered in group:
            self.inside.ended(item.arrival)
            row = self._ended_row(item) if isinstance(item, Ended) else answered
            assert row is not None
            if isinstance(item, Work):
                self.window.done(row.seconds - item.seconds)
                if row.state == State.FAILED:
                    self.failed[row.document or ""] = row
            self.tally.count(row)
            if row.state not in (State.IGNORED, State.PENDING):
                self.rows.append((self._complete(row), item.arrival))
        self.opened.observer.expects(self.ahead.seconds_left(self.tally.ended))
        while len(self.rows) >= self.opened.plan.part_documents:
            self._commit()
        if time.monotonic() - self.last_commit >= self.opened.plan.part_seconds:
            self._commit()

    def commit_all(self) -> None:
        """Commit every row that is left."""
        while self.rows:
            self._commit()

    def _ended_row(self, ended: Ended) -> Row:
        """The row of a document that needed no computing. A copy of a document that failed is failed too, with the same
        reason, as it would be after a restart."""
        original = self.failed.get(ended.arrival.sha256 or "")
        if ended.state == State.DUPLICATE and original:
            return original.having(path=ended.arrival.path, parent=ended.arrival.parent)
        return ended_row(ended)

    def _complete(self, row: Row) -> Row:
        maker = self.opened.committer.maker
        assert maker is not None  # there is one before the first row
        return row.having(
            model_sha256=maker.model_sha256, numerics=maker.numerics, job_digest=maker.job_digest, software=label(),
            finished_at=datetime.now(UTC),
        )  # fmt: skip

    def _may_replace(self, row: Row, arrival: Arrival) -> bool:
        """Whether the row may be committed: that of a rerun, only if the row that was chosen holds still, for people
        decide while it goes on."""
        if still_holds(self.opened.committer.last, arrival):
            return True
        self.tally.take_back(row, OVERTAKEN)
        return False

    def _commit(self) -> None:
        rows, self.rows = self.rows[: self.opened.plan.part_documents], self.rows[self.opened.plan.part_documents :]
        rows = [each for each in rows if self._may_replace(*each)]
        if rows:
            self.opened.nightly.take(self.opened.committer.commit(rows))
            self.opened.observer.note("part committed", rows=len(rows), file=str(self.opened.committer.parts[-1]))
            self.opened.take_up()
        self.last_commit = time.monotonic()
