"""What changed between two settings, and what each entry says, in words."""

import pytest

from pipeline.records.entries import from_json
from pipeline.records.settings import differences, settings_in_words
from pipeline.records.types import KINDS
from tests.pipeline.records.samples import completed

BEFORE = {
    "digest": 2,
    "task": {
        "type": "classify",
        "threshold": 0.3,
        "labels": [{"name": "lease", "description": "a lease"}, {"name": "nda", "description": "a secret"}],
        "examples": [{"text": "one"}, {"text": "two"}],
    },
    "read": {"hidden": "drop", "ocr": {"enabled": True, "languages": ["deu", "eng"]}},
}


def test_nothing_differs_from_itself() -> None:
    assert differences(BEFORE, BEFORE) == []


def test_a_label_that_is_added_in_front_is_one_difference() -> None:
    labels = [{"name": "claim", "description": "a claim"}, *BEFORE["task"]["labels"]]  # type: ignore[index]
    after = {**BEFORE, "task": {**BEFORE["task"], "labels": labels}}  # type: ignore[dict-item]
    (found,) = differences(BEFORE, after)
    assert (found.where, found.before, found.after) == (("task", "labels", "claim", "description"), None, "a claim")
    (gone,) = differences(after, BEFORE)
    assert (gone.before, gone.after) == ("a claim", None)


def test_values_and_lists_differ_in_words() -> None:
    after = {
        **BEFORE,
        "task": {**BEFORE["task"], "threshold": 0.5},  # type: ignore[dict-item]
        "read": {"hidden": "keep", "ocr": {"enabled": False, "languages": []}},
    }
    told = {each.where: (each.before, each.after) for each in differences(BEFORE, after)}
    assert told == {
        ("task", "threshold"): ("0.3", "0.5"),
        ("read", "hidden"): ("drop", "keep"),
        ("read", "reading of pictures", "enabled"): ("yes", "no"),
        ("read", "reading of pictures", "languages"): ("deu, eng", "none"),
    }


def test_every_setting_is_told_once() -> None:
    told = settings_in_words(BEFORE)
    places = [where for where, _ in told]
    assert len(set(places)) == len(places)
    assert (("task", "examples", "no. 2", "text"), "two") in told
    assert not any("{" in text for _, text in told)


@pytest.mark.parametrize("kind", KINDS)
def test_every_entry_is_a_sentence(kind: str) -> None:
    common = {"n": 7, "time": "2026-11-01T00:00:00.000000Z", "user": "root", "host": "vm", "job": "sort"}
    entry = from_json(
        completed({"type": kind}) | {k: v for k, v in common.items() if k != "job" or kind != "qualified"}
    )
    told = entry.says()
    assert told.endswith(".")
    assert not told.endswith("..")
    assert told[0].isupper() or told[0].isdigit() or told.startswith(("sort:", "\u00fc"))
    assert "None" not in told
    assert "{" not in told
    assert "`" not in told
    assert "\n" not in told


def test_an_entry_of_a_later_version_is_a_sentence_too() -> None:
    said = {"type": "moon.rose", "run": "", "n": 1, "time": "2026-11-01T00:00:00.000000Z", "user": "root", "host": "vm"}
    assert from_json(said).says() == "Moon rose."
