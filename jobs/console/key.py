"""The console's own key is admitted in the log: with it decisions of people are signed.

Whether it is admitted already, the chronicle knows: the log of millions of entries is not read for it again.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from dataclasses import dataclass, field
from typing import Final

import audit
import pipeline

_AGAIN_SECONDS: Final = 30.0
_SOON_SECONDS: Final = 2.0
_FEW: Final = 5000


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
        with contextlib.suppress(audit.AuditError, OSError, sqlite3.Error):  # what is wrong there, pages say
            while not self._ended.is_set():
                try:
                    if self._is_known() and (self._is_admitted() or pipeline.admit_review_key(self.site)):
                        return
                    self._ended.wait(_SOON_SECONDS)
                except audit.LogHeld:
                    self._ended.wait(_AGAIN_SECONDS)

    def _is_known(self) -> bool:
        """Whether the chronicle is made, but for a few entries."""
        with pipeline.open_chronicle(self.site) as chronicle:
            return chronicle.behind is not None and chronicle.behind < _FEW

    def _is_admitted(self) -> bool:
        """Whether the key is the last one that the log admitted, as far as the chronicle knows."""
        file = self.site.root / "keys" / "review.key"
        if not file.exists():
            return False
        with pipeline.open_chronicle(self.site) as chronicle:
            last = chronicle.last_of("reviewer_key.admitted")
        found = list(pipeline.entries_at(self.site, [last.n])) if last else []
        return any(entry.said.get("public_key") == audit.signing_key(file) for entry in found)
