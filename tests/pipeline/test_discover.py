"""Every path has one state."""

import os
from pathlib import Path

from pipeline import Input, scan
from pipeline.discover import shown


def test_sorted_settled_and_ignored(tmp_path: Path) -> None:
    for name in ["b.txt", "a/z.txt", "a/b.PDF", "note.tmp", "~$open.docx", ".git/config"]:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name)
    os.mkfifo(tmp_path / "pipe.txt")
    now = (tmp_path / "b.txt").stat().st_ctime
    found = scan(Input(tmp_path, ("*.txt", "a/*.pdf"), 5.0, "archive"), now + 100)
    assert [c.path for c in found.ready] == ["b.txt", "a/b.PDF", "a/z.txt"]
    assert not found.settling
    assert dict(found.ignored).keys() == {"note.tmp", "~$open.docx", ".git/config", "pipe.txt"}
    young = scan(Input(tmp_path, ("*",), 5.0, "archive"), now + 1)
    assert not young.ready
    assert "taken when still for 5 s" in young.settling[0][1]


def test_a_clock_set_back_does_not_hold_files_for_ever(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    found = scan(Input(tmp_path, ("*",), 5.0, "archive"), (tmp_path / "a.txt").stat().st_ctime - 3600)
    assert len(found.ready) == 1


def test_many_files(tmp_path: Path) -> None:
    for i in range(2000):
        (tmp_path / f"{i}.txt").touch()
    assert len(scan(Input(tmp_path, ("*.txt",), 0.0, "archive")).ready) == 2000


def test_shown_names_are_always_text() -> None:
    assert shown("größe.txt") == "größe.txt"
    assert shown(os.fsdecode(b"\xff.txt")) == "\\xff.txt"
