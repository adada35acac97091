"""Which instruction sets this processor has, and what is looked at on each of them."""

from pathlib import Path

import pytest

from engine.cpu import ISAS

MODELS: dict[tuple[str, str], tuple[str, ...]] = {
    ("bert", "q8_0"): tuple(ISAS),
    ("nomic_bert", "q8_0"): ("avx2", "amx"),
    ("modernbert", "q8_0"): ("portable", "avx512_vnni"),
    ("nomic_bert", "f32"): ("portable", "avx512_vnni"),
    ("modernbert", "f32"): ("avx2", "amx"),
}
"""On which instruction sets, besides the best of the processor, models are looked at. The two with rotary positions are
made of the same kernels, which cost much time to compile: each has whole numbers on one, floats on the other."""


def need(isa: str) -> None:
    """Skip the test on a processor that lacks something of this instruction set."""
    if missing := ISAS[isa] - set(Path("/proc/cpuinfo").read_text().split()):
        pytest.skip(f"this processor lacks {', '.join(sorted(missing))}")
