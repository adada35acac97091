"""Records in words: whatever a record says, no JSON and no Python is shown to people."""

import re
from pathlib import Path

import pytest

import pipeline
from pipeline.proof.words import members_in_words
from pipeline.records.entries import read_entries
from pipeline.records.types import KINDS
from tests.pipeline.conftest import make_site

SHA = "ab" * 32
ERASED = {
    "type": "erased", "run": "", "n": 9, "entries": [3, 4, 5, 8], "archive": [3], "failed": [], "markdown": [],
    "parts": [], "reason": "request 7",
    "rows": [{"file": "outbox/sort/part-1.parquet", "part": 6, "sha256": SHA, "entries": [3]},
             {"file": "outbox/sort/part-2.parquet", "part": 7, "sha256": SHA, "entries": [8, 7]}],
}  # fmt: skip
REPLAYED = {
    "type": "replayed", "asked": {"document": None, "run": "r", "share": 0.01, "seed": 0}, "rows": 1200,
    "counts": {"identical": 1200, "different": 0}, "different": [],
}  # fmt: skip
SHOWN = re.compile(r"[{}\[\]\"']|\bNone\b|\bTrue\b|\bFalse\b|\bnull\b")


def test_an_erasure_in_words() -> None:
    assert dict(members_in_words(ERASED)) == {
        "cannot be opened again": "entries 3 to 5, 8",
        "bytes and text erased": "entry 3",
        "reason": "request 7",
        "parts written anew": (
            f"outbox/sort/part-1.parquet without the rows of entry 3 (sha256 {SHA}); "
            f"outbox/sort/part-2.parquet without the rows of entries 7 to 8 (sha256 {SHA})"
        ),
    }


def test_an_export_of_all_days_in_words(tmp_path: Path) -> None:
    site = make_site(tmp_path / "ws")
    pipeline.export(site, tmp_path / "out")
    (entry,) = read_entries(site)
    told = dict(members_in_words(entry.said))
    sha256 = told.pop("export sha256")
    assert re.fullmatch("[0-9a-f]{64}", sha256)
    assert told == {"days from": "the beginning", "days before": "the end", "from": "entry 0", "to before": "entry 0"}


def test_a_replay_in_words() -> None:
    assert dict(members_in_words(REPLAYED)) == {
        "asked for": "run r, share 0.01, seed 0",
        "rows": "1,200",
        "counts": "identical 1,200, different 0",
    }


@pytest.mark.parametrize(
    "value", [{}, [], {"a": {"b": [1, None, {"c": True}]}}, [[1, [2]]], False, 1e-7, 10**20, ["x"]]
)
@pytest.mark.parametrize("name", ["rows", "counts", "entries", "n_of", "hold", "before"])
def test_no_value_of_any_member_is_told_as_json_or_python(name: str, value: object) -> None:
    for kind in (*KINDS, "a.type.of.tomorrow"):
        told = list(members_in_words({"type": kind, name: value}))
        assert not [each for pair in told for each in pair if SHOWN.search(each)], told
        assert told or value in ({}, [])
