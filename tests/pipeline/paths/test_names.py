"""Names made from names of documents are possible and never collide."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pipeline
from pipeline import RunPlan
from pipeline.paths.names import REASON, failed_apart, failed_name, markdown_name
from pipeline.text.visible import shown
from tests.pipeline.conftest import Witness

Drop = Callable[[str, bytes | str], Path]
NAMES = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=300)
PATHS = st.lists(NAMES, min_size=1, max_size=6).map("/".join)


@given(PATHS, st.sampled_from(["ab" * 32, None]))
def test_every_name_is_possible(path: str, sha256: str | None) -> None:
    for name, room in [(markdown_name(path), 0), (failed_name(path), len(REASON)), (failed_apart(path, sha256), 12)]:
        parts = [os.fsencode(part) for part in name.split("/")]
        assert all(0 < len(part) <= 255 for part in parts)
        assert len(parts[-1]) + room <= 255
        assert len(os.fsencode(name)) <= 1024


@given(st.lists(PATHS, unique=True, min_size=2, max_size=8))
def test_names_are_different_and_no_file_is_a_folder(paths: list[str]) -> None:
    names = [markdown_name(path) for path in paths]
    assert len(set(names)) == len(names)
    folders = {"/".join(name.split("/")[:i]) for name in names for i in range(1, name.count("/") + 1)}
    assert not folders & set(names)
    failed = [failed_name(path) for path in paths]
    assert not {name + REASON for name in failed} & set(failed)


def test_ordinary_names_stay() -> None:
    assert markdown_name("a/b c.txt") == "a/b c.txt.md"
    assert failed_name("a/b c.txt") == "a/b c.txt"
    assert markdown_name("notes.md/x") == "notes.md_/x.md"
    assert failed_name("x.reason.json") == "x.reason.json_"


def test_what_controls_a_terminal_is_escaped() -> None:
    assert shown("x\x1b]0;y\x07\n\u202e.txt") == "x\\x1b]0;y\\x07\\n\\u202e.txt"


@pytest.mark.parametrize(
    "names",
    [
        ["n" * 250 + ".txt", "m" * 255],
        ["x", "x.md/y.txt"],
        ["a\nb.txt", "c\x1b[2J.txt"],
        ["deep/" * 60 + "file.txt"],
    ],
)
def test_documents_of_any_name_end_and_stay_verifiable(plan: RunPlan, drop: Drop, names: list[str]) -> None:
    for i, name in enumerate(names):
        drop(name, f"The landlord leases flat {i} to the tenant.")
    drop("e" * 250, b"")
    report = pipeline.run(plan, observer=Witness())
    assert (report.counts["done"], report.counts["failed"]) == (len(names), 1)
    assert not any(path.is_file() for path in plan.input.folder.rglob("*"))
    check = pipeline.verify(plan.site)
    assert check.ok
    assert not check.absent
    assert check.checked["markdown"] == len(names)


def test_failed_documents_never_take_each_others_place(plan: RunPlan, drop: Drop) -> None:
    bodies = [b"PK\x03\x04 broken %d" % i for i in range(4)]
    for name, body in [("x", bodies[0]), ("x.reason.json", bodies[1])]:
        drop(name, body)
    pipeline.run(plan, observer=Witness())
    for path in plan.input.folder.iterdir():
        raise AssertionError(path)
    drop("x/y", bodies[2])
    pipeline.run(plan, observer=Witness())
    (plan.input.folder / "x").rmdir()
    drop("x", bodies[3])
    pipeline.run(plan, observer=Witness())
    kept = {path.read_bytes() for path in plan.failed.rglob("*") if path.is_file() and path.suffix != ".json"}
    assert set(bodies) <= kept
    assert len(list(plan.failed.rglob(f"*{REASON}"))) == 4
