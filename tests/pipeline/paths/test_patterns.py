"""Patterns of names, and of folders that come first."""

from pathlib import Path

from pipeline import Input, scan
from pipeline.paths.names import matcher, ranker


def test_case_and_kinds() -> None:
    matches = matcher(["*.PDF", "a/?.[tc]xt"])
    assert [matches(text) for text in ("x.pdf", "a/b.txt", "a/b.cxt", "a/bb.txt", "x.pdf2", "new\nline.pdf")] == [
        True, True, True, False, False, True
    ]  # fmt: skip


def test_the_first_pattern_counts_also_for_folders_below() -> None:
    rank = ranker(["Urgent", "*/today/", "u*"])
    ranks = {"urgent/a": 0, "URGENT/x/y/a": 0, "x/today/a": 1, "x/today/y/a": 1, "usual/a": 2, "a": 3, "today/a": 3}
    assert {path: rank(path) for path in ranks} == ranks
    assert rank("x/" * 150 + "a") == 3


def test_ready_files_come_in_that_order(tmp_path: Path) -> None:
    for name in (
        "a.txt",
        "b/1.txt",
        "b/0.txt",
        "today/z.txt",
        "urgent/late/c.txt",
        "urgent/d.txt",
        "today/urgent/e.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = scan(Input(tmp_path, ("*",), 0.0, "archive", priority=("urgent", "today")))
    assert [candidate.path for candidate in found.ready] == [
        "urgent/d.txt", "urgent/late/c.txt", "today/z.txt", "today/urgent/e.txt", "a.txt", "b/0.txt", "b/1.txt",
    ]  # fmt: skip
