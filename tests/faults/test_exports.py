"""A sample of the hostile exports and proofs that `make torture` does 100,000 of."""

import functools
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit import standalone
from tests.faults.exports import Victim, attack, ending_of, judge_export, make_victim
from tests.faults.forging import FORGINGS


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    """In a folder where fsync costs nothing."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield make_victim(Path(folder, "victim"))


def test_three_hundred_forgeries_are_refused(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standalone, "is_signed", functools.lru_cache(standalone.is_signed))
    found = list(attack(victim, 0, range(300)))
    assert [each for each in found if each[3]] == []
    kinds = {kind.strip() for _, done, *_ in found for kind in done.split(", ")}
    assert {kind.partition(",")[0] for kind in FORGINGS} <= kinds
    assert Counter(ended for _, _, ended, *_ in found)["1"] > 200


def test_an_export_that_is_as_it_was_is_whole(victim: Victim) -> None:
    for name, keys in victim.keys.items():
        for key in keys:
            ending = ending_of(functools.partial(standalone.main, ["--key", key, str(victim.root / name)]))
            assert (ending.code, judge_export(victim.root / name, victim.root / name, ending)) == (0, None), ending


def test_the_judge_sees_what_is_taken_for_whole(victim: Victim, tmp_path: Path) -> None:
    """Endings as a verifier has them that looks at nothing."""
    changed = Path(shutil.copytree(victim.root / "small", tmp_path / "changed"))
    (changed / "records.jsonl").write_bytes(b"")
    for code, wrong in ((0, "TAKEN FOR WHOLE"), (3, "TAKEN FOR WHOLE"), (70, "ENDED WITH 70"), (-1, "ENDED WITH")):
        ending = ending_of(functools.partial(lambda code: code, code))
        assert str(judge_export(victim.root / "small", changed, ending)).startswith(wrong)
    loud = ending_of(functools.partial(print, "\x1b[2J"))
    assert judge_export(victim.root / "small", victim.root / "small", loud) == "WROTE '\\x1b'"
