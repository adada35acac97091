"""The window of a run: until when its documents may be computed."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.forecast import Pace
from pipeline.inbox.find import Stop
from pipeline.inbox.order import Ended, Work

Clock = Callable[[], float]
"""Gives the seconds since 1970."""


@dataclass
class Window:
    """Called, it says whether a run takes nothing more in: stopping was asked for, or its window has closed.

    The window closes for good at the first document that is not expected to be done by `until`, together with those
    that are `going`: let in, and not done yet (tokens, in their order; `load` is their sum), by `hands` machines at a
    time; and at `share_until`, from when on others compute. Without `until` it never closes. Threads that read
    documents call it, too; only the run's own thread does anything else with it.
    """

    stop: Stop
    until: datetime | None
    clock: Clock
    pace: Pace
    share_until: datetime | None = None
    going: deque[int] = field(default_factory=deque)
    load: int = 0
    is_closed: bool = False
    begun: bool = False
    hands: Callable[[], int] = lambda: 1

    def __call__(self) -> bool:
        """Whether nothing more is to be taken in."""
        return self.stop() or not self._is_open_for(1)

    @property
    def ended_the_run(self) -> bool:
        """Whether what is left of the documents is left because the window closed, and not because of a person."""
        return self.is_closed and not self.stop()

    def let_in(self, items: Iterable[Work | Ended], count: Callable[[str], int]) -> Iterator[Work | Ended]:
        """Pass on items as long as the window is open for them; `count` gives the tokens of a text."""
        for item in items:
            if isinstance(item, Work) and self.until is not None:
                tokens = count(item.parsed.text)
                if not self._is_open_for(tokens):
                    return
                self.begun = True
                self.going.append(tokens)
                self.load += tokens
            yield item

    def done(self, seconds: float) -> None:
        """Hear that the first document on its way is done, and what computing it took."""
        if self.going:
            tokens = self.going.popleft()
            self.load -= tokens
            self.pace.take(tokens, seconds)

    def gives_back(self) -> bool:
        """Whether what is being computed is to be left for the next run. The last document that is on its way is
        finished, however late: else one that takes longer than it should would be begun every night, and never done."""
        return self.stop() or (len(self.going) > 1 and self.clock() >= self._end)

    @property
    def _end(self) -> float:
        return math.inf if self.until is None else self.until.timestamp()

    def _is_open_for(self, tokens: int) -> bool:
        if self.until is not None and not self.is_closed:
            now = self.clock()
            ready = now + self.pace.expected(tokens, self.load // self.hands())
            if ready > self._end or now >= self._end or self._share_is_over(now):
                self.is_closed = True  # never opened again by a thread that looked at it before
        return not self.is_closed

    def _share_is_over(self, now: float) -> bool:
        """Not before the first document began: else one for which no share is enough would never be done."""
        return self.begun and self.share_until is not None and now >= self.share_until.timestamp()
