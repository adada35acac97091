"""The order of system calls is the one that audit/durable.py writes down."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit import durable

Trace = Callable[[Callable[[], None]], list[str]]


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    """What an action does to files under tmp_path, as `call name`; a folder has a slash behind its name."""

    def run(action: Callable[[], None]) -> list[str]:
        seen, paths = list[str](), dict[int, str]()

        def name(path: object) -> str:
            relative = Path(os.fspath(path)).relative_to(tmp_path)  # type: ignore[call-overload]
            return f"{relative}/" if (tmp_path / relative).is_dir() else str(relative)

        def wrap(call: str) -> None:
            real = getattr(os, call)

            def wrapped(*args: Any, **options: Any) -> Any:
                result = real(*args, **options)
                if call == "open":
                    paths[result] = name(args[0])
                elif call in ("write", "fsync", "ftruncate"):
                    seen.append(f"{call} {paths[args[0]]}")
                else:
                    seen.append(" ".join([call, *(name(arg) for arg in args if isinstance(arg, str | Path))]))
                return result

            monkeypatch.setattr(os, call, wrapped)

        for call in ("open", "write", "fsync", "ftruncate", "rename", "unlink", "mkdir"):
            wrap(call)
        action()
        monkeypatch.undo()
        return seen

    return run


def test_write_file_atomically(tmp_path: Path, trace: Trace) -> None:
    (tmp_path / "f").write_bytes(b"old")
    order = ["write f.tmp", "fsync f.tmp", "rename f.tmp f", "fsync ./"]
    assert trace(lambda: durable.write_file_atomically(tmp_path / "f", b"new")) == order
    assert (tmp_path / "f").read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [tmp_path / "f"]


def test_create_durably(tmp_path: Path, trace: Trace) -> None:
    def create() -> None:
        durable.create_durably(tmp_path / "f", b"new", mode=0o600)

    assert trace(create) == ["write f", "fsync f", "fsync ./"]
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        create()


def test_append_durably(tmp_path: Path, trace: Trace) -> None:
    def append(at: int) -> Callable[[], None]:
        return lambda: durable.append_durably(tmp_path / "f", b"ab", at)

    assert trace(append(0)) == ["write f", "fsync f", "fsync ./"]
    assert trace(append(2)) == ["write f", "fsync f"]
    assert (tmp_path / "f").read_bytes() == b"abab"
    with pytest.raises(OSError, match="4 bytes long, expected 3"):
        append(3)()
    with pytest.raises(FileExistsError):
        append(0)()
    assert (tmp_path / "f").read_bytes() == b"abab"


def test_cut_durably(tmp_path: Path, trace: Trace) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert trace(lambda: durable.cut_durably(tmp_path / "f", 2)) == ["ftruncate f", "fsync f"]
    assert (tmp_path / "f").read_bytes() == b"ab"


def test_rename_durably(tmp_path: Path, trace: Trace) -> None:
    (tmp_path / "d").mkdir()
    for name in ("f", "g"):
        (tmp_path / name).touch()
    assert trace(lambda: durable.rename_durably(tmp_path / "f", tmp_path / "h")) == ["rename f h", "fsync ./"]
    across = trace(lambda: durable.rename_durably(tmp_path / "g", tmp_path / "d" / "g"))
    assert across == ["rename g d/g", "fsync d/", "fsync ./"]


def test_remove_durably(tmp_path: Path, trace: Trace) -> None:
    (tmp_path / "f").touch()
    assert trace(lambda: durable.remove_durably(tmp_path / "f")) == ["unlink f", "fsync ./"]
    durable.remove_durably(tmp_path / "f")


def test_make_folder_durably(tmp_path: Path, trace: Trace) -> None:
    order = ["mkdir a/", "fsync ./", "mkdir a/b/", "fsync a/"]
    assert trace(lambda: durable.make_folder_durably(tmp_path / "a" / "b")) == order
    assert trace(lambda: durable.make_folder_durably(tmp_path / "a" / "b")) == []


def test_syncing_what_others_wrote(tmp_path: Path, trace: Trace) -> None:
    assert trace(lambda: durable.sync_folder(tmp_path)) == ["fsync ./"]
    durable.sync_filesystem(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        durable.sync_filesystem(tmp_path / "missing")


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"kept")
    for name in ("f", "f.tmp"):
        (tmp_path / name).symlink_to(tmp_path / "other")
    for action in (
        lambda: durable.write_file_atomically(tmp_path / "f", b"x"),
        lambda: durable.append_durably(tmp_path / "f", b"x", 4),
        lambda: durable.cut_durably(tmp_path / "f", 1),
    ):
        with pytest.raises(OSError, match="symbolic links"):
            action()
    assert (tmp_path / "other").read_bytes() == b"kept"


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    durable.create_durably(tmp_path / "f", b"0123456789")
    assert (tmp_path / "f").read_bytes() == b"0123456789"
