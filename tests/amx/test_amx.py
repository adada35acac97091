"""What AMX computes, on a processor without it. `make test-amx` has all tests of the engine's kernels run so."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from engine import NUMERICS
from engine.cpu import ISAS, cpu_flags
from tests.engine.decoder_digests import GOLDEN, KINDS, LENGTH, ask

TILES = {"amx_tile", "amx_int8"}


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """The emulator."""
    if cpu_flags() >= TILES:
        pytest.skip("this processor has AMX")
    if missing := ISAS["amx"] - TILES - cpu_flags():
        pytest.skip(f"this processor lacks {', '.join(sorted(missing))}")
    if not (compiler := shutil.which("cc")):
        pytest.skip("there is no C compiler")
    library, source = tmp_path / "amx.so", Path(__file__).with_name("emulator.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def test_decoders(library: Path, tmp_path: Path) -> None:
    found = ask(tmp_path, LENGTH, *KINDS, CLOISTER_ISA="amx", CLOISTER_THREADS="2", LD_PRELOAD=str(library))
    expected = json.loads(GOLDEN.read_text())[NUMERICS]["decoders"]
    assert {name: digest for name, digest in found.items() if name not in KINDS} == expected
