"""Decoders say the same on every instruction set, for any number of threads, compiled or as plain Python."""

from pathlib import Path

import pytest

from engine.cpu import ISAS
from tests.engine.decoder_digests import KINDS, ask
from tests.engine.isas import need

LENGTH, SHORT = 50, 6


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    found = ask(tmp_path_factory.mktemp("decoders"), LENGTH, *KINDS, CLOISTER_THREADS="1")
    assert len(set(found.values())) == 2 * len(KINDS)
    return found


@pytest.mark.parametrize("isa", ISAS)
def test_every_instruction_set(isa: str, expected: dict[str, str], tmp_path: Path) -> None:
    need(isa)
    assert ask(tmp_path, LENGTH, *KINDS, CLOISTER_ISA=isa, CLOISTER_THREADS="3") == expected


def test_plain_python(tmp_path: Path) -> None:
    for folder in ("compiled", "plain"):
        (tmp_path / folder).mkdir()
    compiled = ask(tmp_path / "compiled", SHORT, "gemma3")
    assert ask(tmp_path / "plain", SHORT, "gemma3", NUMBA_DISABLE_JIT="1", CLOISTER_THREADS="2") == compiled
