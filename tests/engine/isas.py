"""Which instruction sets this processor has."""

from pathlib import Path

import pytest

from engine.cpu import ISAS


def need(isa: str) -> None:
    """Skip the test on a processor that lacks something of this instruction set."""
    if missing := ISAS[isa] - set(Path("/proc/cpuinfo").read_text().split()):
        pytest.skip(f"this processor lacks {', '.join(sorted(missing))}")
