"""Decoders say the same on every instruction set, for any number of threads, compiled or as plain Python."""

import json
from pathlib import Path

import pytest

from engine import NUMERICS
from tests.engine.decoder_digests import GOLDEN, KINDS, LENGTH, ask
from tests.engine.isas import COMPARED, need

SHORT = 4


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    found = ask(tmp_path_factory.mktemp("decoders"), LENGTH, *KINDS, CLOISTER_THREADS="1")
    assert len(set(found.values())) == 3 * len(KINDS)
    return found


def test_a_new_arithmetic_needs_a_new_name(expected: dict[str, str]) -> None:
    """On every machine the same. If this fails and the change is meant: see test_identity."""
    golden = json.loads(GOLDEN.read_text())
    assert {case: expected[case] for case in KINDS} == golden["tiny decoders"], "tests.decoders makes others now"
    assert {name: digest for name, digest in expected.items() if name not in KINDS} == golden[NUMERICS]["decoders"]


@pytest.mark.parametrize("name", COMPARED)
def test_every_instruction_set(name: str, expected: dict[str, str], tmp_path: Path) -> None:
    need(name)
    assert ask(tmp_path, LENGTH, *KINDS, CLOISTER_ISA=name, CLOISTER_THREADS="3") == expected


def test_plain_python(tmp_path: Path) -> None:
    for folder in ("compiled", "plain"):
        (tmp_path / folder).mkdir()
    compiled = ask(tmp_path / "compiled", SHORT, "gemma3")
    assert ask(tmp_path / "plain", SHORT, "gemma3", NUMBA_DISABLE_JIT="1", CLOISTER_THREADS="2") == compiled
