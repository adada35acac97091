"""One process remembers a folder from one scan to the next; else a scan judges by what it sees alone."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

Look = tuple[int, int, int, int]


def look_of(status: os.stat_result) -> Look:
    """The facts that change when a file changes: size, times and inode."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


@dataclass
class Sightings:
    """The sightings of one input folder: since when files have looked as they do, by this process's own clock, and
    their sha256.

    Only what is asked for is remembered, and only until a scan (for the sha256: one that compares) does not ask for it:
    memory grows with the files whose times cannot be trusted and those that a manifest names, not with all others.
    """

    clock: Callable[[], float] = time.monotonic
    _since: dict[str, tuple[Look, float]] = field(default_factory=dict)
    _since_before: dict[str, tuple[Look, float]] = field(default_factory=dict)
    _digests: dict[tuple[str, Look], str] = field(default_factory=dict)
    _digests_before: dict[tuple[str, Look], str] = field(default_factory=dict)

    def begin(self, comparing: bool) -> None:
        """A new scan, which will ask for sha256s or not."""
        self._since_before, self._since = self._since, {}
        if comparing:
            self._digests_before, self._digests = self._digests, {}

    def still_for(self, path: str, status: os.stat_result) -> float:
        """Seconds since `path` was first seen as it looks now, in all scans since; 0 at first sight."""
        look, now = look_of(status), self.clock()
        known = self._since_before.pop(path, None)
        if known is None or known[0] != look:
            known = (look, now)
        self._since[path] = known
        return now - known[1]

    def sha256(self, path: str, look: Look, compute: Callable[[], str | None]) -> str | None:
        """The sha256 of the file's bytes, computed once as long as it looks the same. None if `compute` gives none."""
        known = self._digests_before.get((path, look)) or self._digests.get((path, look)) or compute()
        if known:
            self._digests[path, look] = known
        return known
