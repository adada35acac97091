"""What each document costs in the pool of parsers: wall time from the moment it is handed over to its answer."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from pipeline.document import Parsed
from pipeline.parse import ParserPool

OVERRUN = 2.0  # seconds that a document may take beyond its limit


@dataclass
class Stopwatch:
    """Seconds and names of the documents parsed while it runs; a child's end and another's start count, too."""

    took: list[tuple[float, str]] = field(default_factory=list)

    @contextmanager
    def running(self) -> Iterator[None]:
        """While this lasts, every pool's parsing is timed."""
        parse = ParserPool.parse

        def timed(pool: ParserPool, fd: int, name: str, *more: Any) -> Parsed:
            begun = time.monotonic()
            try:
                return parse(pool, fd, name, *more)
            finally:
                self.took.append((time.monotonic() - begun, name))  # appending is safe from any thread

        with patch.object(ParserPool, "parse", timed):
            yield

    @property
    def slowest(self) -> tuple[float, str]:
        """Seconds and name."""
        return max(self.took, default=(0.0, "no document"))

    def late(self, limit: float) -> list[str]:
        """A line for each document that outlived `limit` seconds by more than OVERRUN."""
        late = sorted((each for each in self.took if each[0] > limit + OVERRUN), reverse=True)
        return [f"{name}: took {seconds:.1f} s, with a limit of {limit:g} s" for seconds, name in late]
