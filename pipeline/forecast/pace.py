"""How long documents take: seconds for each token of their text, by what others took. Pure; knows no clock."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

Took = tuple[int, float]
"""The tokens of a document, or of all documents of a run, and the seconds that they took."""

HIGH: Final = 0.9
"""The share of all tokens that took no longer than `rate` says: a mean would be too short for half of the documents."""

_LONGER: Final = 30
"""Of a text that is so many times as long as all that is known, it is not known what it will take."""

_KEPT: Final = 500  # of the documents that were last: what else the machine does changes in a night


@dataclass
class Pace:
    """The seconds that a token takes in a run. The documents of the run itself say it; before there are any, `earlier`
    runs do, each by all of its tokens and the time in which it computed."""

    earlier: Iterable[Took] = ()
    rate: float | None = field(init=False)
    _took: deque[Took] = field(default_factory=lambda: deque(maxlen=_KEPT), init=False)
    _known: int = field(init=False)

    def __post_init__(self) -> None:
        earlier = [*self.earlier]
        self.rate, self._known = high_rate(earlier), sum(tokens for tokens, _ in earlier)

    def take(self, tokens: int, seconds: float) -> None:
        """Take in what a document of this run took."""
        if not self._took:
            self._known = 0
        self._took.append((max(tokens, 1), seconds))
        self._known += max(tokens, 1)
        self.rate = high_rate(self._took)

    def knows(self, tokens: int) -> bool:
        """Whether anything is known of texts of such a length: the fixed time of a few short ones would make a long one
        seem to take for ever."""
        return self.rate is not None and tokens <= _LONGER * self._known

    def expected(self, tokens: int, before: int = 0) -> float:
        """The seconds that a text of so many tokens is expected to take, 0 where nothing is known of it, behind texts
        of so many tokens `before` it."""
        counted = before + (max(tokens, 1) if self.knows(tokens) else 0)
        return counted * (self.rate or 0.0)


def high_rate(took: Iterable[Took]) -> float | None:
    """The seconds a token that are enough for the share HIGH of all tokens; None if there are none. Each token counts
    the same, for the fixed time of small documents and small runs says little about large ones."""
    rates = sorted((seconds / tokens, tokens) for tokens, seconds in took if tokens > 0)
    needed, reached = HIGH * sum(tokens for _, tokens in rates), 0
    for rate, tokens in rates:
        reached += tokens
        if reached >= needed:
            return rate
    return None
