"""No path leads out of its folder, whatever is swapped for what."""

import contextlib
import errno
import os
from pathlib import Path

import pytest

from pipeline.paths.beneath import open_beneath, unlink_beneath


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """in/deep/a.txt below a folder, and a file beside that folder."""
    (tmp_path / "folder" / "in" / "deep").mkdir(parents=True)
    (tmp_path / "folder" / "in" / "deep" / "a.txt").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("outside")
    return tmp_path / "folder"


def read(folder: Path, path: str) -> bytes:
    descriptor = open_beneath(folder, path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1000)
    finally:
        os.close(descriptor)


def test_a_file_is_opened_also_where_the_folder_itself_is_a_link(folder: Path) -> None:
    assert read(folder, "in/deep/a.txt") == b"inside"
    (folder.parent / "link").symlink_to("folder")
    assert read(folder.parent / "link", "in/deep/a.txt") == b"inside"


@pytest.mark.parametrize(
    "path", ["../outside/a.txt", "/etc/passwd", "in/../../outside/a.txt", "in//deep/a.txt", "", ".", "in/."]
)
def test_names_that_lead_elsewhere_are_refused(folder: Path, path: str) -> None:
    with pytest.raises(OSError, match="leads out") as error:
        open_beneath(folder, path, os.O_RDONLY)
    assert error.value.errno == errno.EXDEV


@pytest.mark.parametrize("swapped", ["in", "in/deep", "in/deep/a.txt"])
@pytest.mark.parametrize("target", ["outside", "folder"])
def test_a_link_at_any_part_is_refused(folder: Path, swapped: str, target: str) -> None:
    away = folder / "away"
    (folder / swapped).rename(away)
    (folder / swapped).symlink_to(folder.parent / "outside" if target == "outside" else away)
    with pytest.raises(OSError, match=r"Too many levels of symbolic links|Not a directory"):
        open_beneath(folder, "in/deep/a.txt", os.O_RDONLY)
    other = folder.parent / "outside" / "a.txt"
    with other.open() as file, contextlib.suppress(OSError):  # a last part that is a link is another file, which stays
        unlink_beneath(folder, "in/deep/a.txt", file.fileno())
    assert other.exists()
    assert (folder / swapped).is_symlink()


def test_only_the_very_file_is_removed(folder: Path) -> None:
    path = folder / "in" / "deep" / "a.txt"
    with path.open() as file:
        path.rename(folder / "kept.txt")
        path.write_text("new")
        unlink_beneath(folder, "in/deep/a.txt", file.fileno())
        assert path.read_text() == "new"
        unlink_beneath(folder, "kept.txt", file.fileno())
    assert not (folder / "kept.txt").exists()


def test_nothing_stays_open(folder: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for path in ("in/deep/a.txt", "in/none/a.txt", "in/deep/none", "../x"):
        with contextlib.suppress(OSError):
            os.close(open_beneath(folder, path, os.O_RDONLY))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_names_of_any_bytes(folder: Path) -> None:
    for name in (b"\xff\xfe", b"a\nb", b"\x1b[2J", b"n" * 255, b" ", b"\\"):
        (folder / "in" / os.fsdecode(name)).write_bytes(name)
        assert read(folder, f"in/{os.fsdecode(name)}") == name
