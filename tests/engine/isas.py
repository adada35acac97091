"""Which instruction sets this processor has, and what is looked at on each of them."""

from pathlib import Path

import pytest

from engine.cpu import ISAS
from tests.thorough import ALL

ISAS_OF_ONE: tuple[str, ...] = tuple(ISAS) if ALL else ("avx2", "amx")
ISAS_OF_THE_OTHER: tuple[str, ...] = tuple(ISAS) if ALL else ("portable", "avx512_vnni")
MODELS: dict[tuple[str, str], tuple[str, ...]] = {
    ("bert", "q8_0"): tuple(ISAS) if ALL else ("amx", "avx512_vnni", "avx2"),
    ("nomic_bert", "q8_0"): tuple(ISAS) if ALL else (),
    ("modernbert", "q8_0"): ISAS_OF_THE_OTHER,
    ("nomic_bert", "f32"): tuple(ISAS) if ALL else (),
    ("modernbert", "f32"): ISAS_OF_THE_OTHER,
}
"""On which instruction sets, besides the best of the processor, models are looked at. The architectures are made of the
same kernels, and each costs 15 seconds of compiling for each set, of integers and floats at once: here each set looks
at one of them, and `make torture` at all on all. Decoders are compiled whole for the one half of the sets, and their
products alone for the other."""


def need(isa: str) -> None:
    """Skip the test on a processor that lacks something of this instruction set."""
    if missing := ISAS[isa] - set(Path("/proc/cpuinfo").read_text().split()):
        pytest.skip(f"this processor lacks {', '.join(sorted(missing))}")
