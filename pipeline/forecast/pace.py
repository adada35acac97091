"""How long documents take: seconds for each token of their text, by what others took. Pure; knows no clock."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

Took = tuple[int, float]
"""The tokens of a document, or of all documents of a run, and the seconds that they took."""

HIGH: Final = 0.9
"""The share of all tokens that took no longer than `rate` says: a mean would be too short for half of the documents."""

_KEPT: Final = 500  # of the documents that were last: what else the machine does changes in a night


@dataclass
class Pace:
    """The seconds that a token takes in a run. The documents of the run itself say it; before there are any, `earlier`
    runs do, each by all of its tokens and the time from its start to its end."""

    earlier: Iterable[Took] = ()
    rate: float | None = field(init=False)
    _took: deque[Took] = field(default_factory=lambda: deque(maxlen=_KEPT), init=False)

    def __post_init__(self) -> None:
        self.rate = high_rate(self.earlier)

    def take(self, tokens: int, seconds: float) -> None:
        """Take in what a document of this run took."""
        self._took.append((max(tokens, 1), seconds))
        self.rate = high_rate(self._took)

    def expected(self, tokens: int) -> float:
        """The seconds that a text of so many tokens is expected to take, and 0 as long as nothing is known."""
        return max(tokens, 1) * (self.rate or 0.0)


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
