"""How long somebody has to wait who gave a wrong passphrase several times."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_FREE: Final = 5
_LONGEST_SECONDS: Final = 300.0
_MOST_NAMES: Final = 10_000


@dataclass
class Patience:
    """Failed attempts by name: after the fifth in a row each costs twice the wait, up to five minutes."""

    clock: Callable[[], float] = time.monotonic
    _failed: dict[str, tuple[int, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, name: str) -> float:
        """The seconds that an attempt for this name has to wait; 0 for none."""
        with self._lock:
            times, last = self._failed.get(name.casefold(), (0, 0.0))
        if times < _FREE:
            return 0.0
        return max(0.0, last + min(_LONGEST_SECONDS, 2.0 ** (times - _FREE)) - self.clock())

    def failed(self, name: str) -> None:
        """Note that an attempt for this name failed."""
        with self._lock:
            times, _ = self._failed.pop(name.casefold(), (0, 0.0))
            while len(self._failed) >= _MOST_NAMES:
                del self._failed[next(iter(self._failed))]
            self._failed[name.casefold()] = times + 1, self.clock()

    def succeeded(self, name: str) -> None:
        """Forget what failed for this name."""
        with self._lock:
            self._failed.pop(name.casefold(), None)
