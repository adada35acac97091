"""Refused requests are recorded in the log, without letting strangers fill it: of one kind and person, the
first at once and those of the next minute together in one more record."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from starlette.concurrency import run_in_threadpool

_TOGETHER_SECONDS: Final = 60.0
_MOST_KINDS: Final = 200  # of which records are kept apart; what is beyond counts as of nobody


class Attempt(NamedTuple):
    """A kind of attempt that was refused, and who made it ("" where nobody was signed in)."""

    why: str
    person: str


@dataclass
class Attempts:
    """Counts refused attempts; `tell` records one kind, and how many there were."""

    tell: Callable[[Attempt, int], None]
    clock: Callable[[], float] = time.monotonic
    _last: dict[Attempt, float] = field(default_factory=dict)
    _more: dict[Attempt, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    async def refused(self, why: str, person: str = "") -> None:
        """Note an attempt that was refused."""
        if self._is_first(attempt := Attempt(why, person)):
            await run_in_threadpool(self.tell, attempt, 1)

    def refused_here(self, why: str, person: str = "") -> None:
        """Note an attempt that was refused, from a thread that may wait."""
        if self._is_first(attempt := Attempt(why, person)):
            self.tell(attempt, 1)

    def flush(self, *, everything: bool = False) -> None:
        """Record what came since the first of each kind, where that is a minute ago, or in any case."""
        now, due = self.clock(), dict[Attempt, int]()
        with self._lock:
            for attempt, last in list(self._last.items()):
                if everything or now - last >= _TOGETHER_SECONDS:
                    del self._last[attempt]
                    if more := self._more.pop(attempt, 0):
                        due[attempt] = more
        for attempt, number in due.items():
            self.tell(attempt, number)

    def _is_first(self, attempt: Attempt) -> bool:
        with self._lock:
            if attempt not in self._last and len(self._last) >= _MOST_KINDS:
                attempt = Attempt(attempt.why, "")
            if attempt in self._last:
                self._more[attempt] = self._more.get(attempt, 0) + 1
                return False
            self._last[attempt] = self.clock()
            return True
