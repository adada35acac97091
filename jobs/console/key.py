"""The console's own key is admitted in the log: with it decisions of people are signed."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass, field
from typing import Final

import audit
import pipeline

_AGAIN_SECONDS: Final = 30.0


@dataclass
class KeyAdmission:
    """A thread that has the key admitted as soon as nobody else holds the log, and ends then."""

    site: pipeline.Site
    _ended: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._admit, name="review key", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for so long; whether it has ended."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()

    def close(self) -> None:
        """Give up."""
        self._ended.set()
        self.wait(10)

    def _admit(self) -> None:
        with contextlib.suppress(audit.AuditError, OSError):  # what is wrong with the log, pages say
            while not self._ended.is_set():
                try:
                    pipeline.admit_review_key(self.site)
                    return
                except audit.LogHeld:
                    self._ended.wait(_AGAIN_SECONDS)
