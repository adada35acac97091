"""How far the document is that a run works on: told now and then, and not before it takes a while."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pipeline.inbox.intake import Arrival
from pipeline.report import COMPUTING, READING, Observer

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
