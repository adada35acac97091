"""How long somebody has to wait who gave a wrong passphrase several times."""

import hashlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

_FREE: Final = 5
_FIRST_SECONDS: Final = 10.0
_LONGEST_SECONDS: Final = 300.0
_MOST_KEPT: Final = 10_000
_KEY_BYTES: Final = 16


@dataclass
class Patience:
    """Attempts that failed, by name and source: after the fifth in a row each costs twice the wait, up to five minutes.
    A wait is for that name from that source alone, so nobody makes somebody elsewhere wait. Of names only digests are
    kept, and of the latest attempts alone."""

    clock: Callable[[], float] = time.monotonic
    _failed: dict[bytes, tuple[int, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, name: str, source: str) -> float:
        """Count an attempt as failed before it is made, so that of many at the same time no more are made than may be;
        or, where it has to wait, the seconds that it has to."""
        with self._lock:
            key, now = _key(name, source), self.clock()
            times, until = self._failed.get(key, (0, 0.0))
            if now < until:
                return until - now
            self._failed.pop(key, None)
            while len(self._failed) >= _MOST_KEPT:
                del self._failed[next(iter(self._failed))]
            wait = (
                0.0 if times + 1 < _FREE else min(_LONGEST_SECONDS, _FIRST_SECONDS * 2.0 ** min(times + 1 - _FREE, 9))
            )
            self._failed[key] = times + 1, now + wait
        return 0.0

    def succeeded(self, name: str, source: str) -> None:
        """Forget what failed for this name from there."""
        with self._lock:
            self._failed.pop(_key(name, source), None)


def _key(name: str, source: str) -> bytes:
    return hashlib.sha256(f"{name.casefold()}\0{source}".encode("utf-8", "replace")).digest()[:_KEY_BYTES]
