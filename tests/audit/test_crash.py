"""A writer that dies: at each single step, by SIGKILL or by a power cut, and while it repairs what a dead one left.

After each death the log must verify without findings, hold all or none of a commit's records, and go on.
"""

import copy
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import audit
from audit import store
from tests.thorough import part

CALLS = ("open", "write", "fsync", "rename", "unlink", "rmdir", "mkdir", "ftruncate")
Around = Callable[[str, tuple[Any, ...], Callable[..., Any]], Any]


@contextmanager
def intercepted(around: Around) -> Iterator[None]:
    """Each call of os by which something on the disk may change goes through `around(name, arguments, real call)`."""
    real = {name: getattr(os, name) for name in CALLS}
    for name in CALLS:
        setattr(os, name, lambda *args, name=name, **_: around(name, args, real[name]))
    try:
        yield
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def die_at(step: int, action: Callable[[], object]) -> bool:
    """Run the action in a child that is killed just before its step number `step`, or in the middle of it if that
    writes. True if it was; False if the action came to its end before."""
    child = os.fork()
    if child == 0:
        left = step

        def around(name: str, args: tuple[Any, ...], real: Callable[..., Any]) -> Any:
            nonlocal left
            if name != "open" or args[1] & os.O_CREAT:
                if left == 0:
                    if name == "write":
                        real(args[0], bytes(args[1])[: len(args[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
            return real(*args)

        try:
            with intercepted(around):
                action()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) == 0, "the action failed"
    return os.WIFSIGNALED(status)


def assert_all_or_none(site: Any, old: int, new: int, *, must: int | None = None) -> None:
    """The log is whole, with or without the commit, before and after the next start, which takes another commit."""
    report = site.verify()
    assert report.ok, report.findings
    assert report.size in ((old, new) if must is None else (must,))
    with site.open() as log:
        assert log.next_index == report.size
        assert log.cut is None or report.notes, "a cut that verification did not announce"
        assert not site.verify().notes
        log.commit(site.records(1))
    assert [entry["n"] for entry in site.entries()] == list(range(report.size + 1))
    report = site.verify()
    assert (report.findings, report.notes) == ([], [])


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "SEGMENT_ENTRIES", 256)


CASES = [(0, 1), (3, 2), (254, 4), (250, 270)]


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize(("old", "more"), CASES)
def test_a_commit_killed_at_each_step(ram_folder: Path, make_site: Any, old: int, more: int) -> None:
    site = make_site(ram_folder / "audit")
    if old:
        site.commit(old)
    shutil.copytree(site.folder, ram_folder / "base")
    sizes = set()
    for step in part(range(100), 3 if old > 100 else 1):
        shutil.rmtree(site.folder)
        shutil.copytree(ram_folder / "base", site.folder)
        if not die_at(step, lambda: site.commit(more)):
            break
        sizes.add(site.verify().size)
        assert_all_or_none(site, old, old + more)
    assert step > 8
    assert sizes == {old, old + more}


@pytest.mark.usefixtures("small_segments")
def test_a_repair_killed_at_each_step(ram_folder: Path, make_site: Any) -> None:
    """Death during the commit, then death during the repair of that, at pairs of steps."""
    site = make_site(ram_folder / "audit")
    site.commit(250)
    base, dead = ram_folder / "base", ram_folder / "dead"
    shutil.copytree(site.folder, base)
    pairs = 0
    for step in range(6, 100, 12):
        shutil.rmtree(site.folder)
        shutil.copytree(base, site.folder)
        if not die_at(step, lambda: site.commit(300)):
            break
        shutil.rmtree(dead, ignore_errors=True)
        shutil.copytree(site.folder, dead)
        for repair_step in part(range(100), 2, step // 12):
            shutil.rmtree(site.folder)
            shutil.copytree(dead, site.folder)
            if not die_at(repair_step, lambda: site.open().close()):
                break
            pairs += 1
            assert_all_or_none(site, 250, 550)
    assert pairs > 10


def test_a_creation_killed_at_each_step_can_be_repeated(ram_folder: Path, make_site: Any) -> None:
    for step in range(100):
        folder = ram_folder / str(step)
        if not die_at(step, lambda folder=folder: make_site(folder)):  # type: ignore[misc]
            break
        if folder.exists():
            with pytest.raises(audit.LogUnwritable, match="not empty"):
                make_site(folder)
            site = make_site(ram_folder / f"{step}-other")
            shutil.rmtree(site.folder)
            folder.rename(site.folder)
        else:
            site = make_site(folder)
        report = site.verify()
        assert (report.findings, report.notes) == ([], [])
        site.commit(2)
        assert site.verify().ok
    assert step > 10


class Disk:
    """What of a folder survives a power cut: contents that were synced, and names whose folder was synced.

    Everything else may have survived or not: `write_to` draws lots, or lets nothing else survive.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths: dict[int, Path] = {}  # of descriptors
        self.names: dict[Path, object] = {path: object() for path in sorted(root.rglob("*"))}  # path -> file
        self.safe_names = dict(self.names)
        self.data: dict[object, bytes | None] = {
            file: path.read_bytes() if path.is_file() else None for path, file in self.names.items()
        }
        self.safe_data = dict(self.data)

    def around(self, name: str, args: tuple[Any, ...], real: Callable[..., Any]) -> Any:
        result = real(*args)
        getattr(self, "_" + name)(args, result)
        return result

    def _open(self, args: tuple[Any, ...], fd: int) -> None:
        path = Path(args[0])
        self.paths[fd] = path
        if path.is_relative_to(self.root) and path != self.root and path not in self.names:
            self.names[path] = object()
            self.data[self.names[path]] = self.safe_data[self.names[path]] = b""
        if args[1] & os.O_TRUNC:
            self.data[self.names[path]] = b""

    def _write(self, args: tuple[Any, ...], count: int) -> None:
        file = self.names[self.paths[args[0]]]
        self.data[file] = (self.data[file] or b"") + bytes(args[1])[:count]

    def _ftruncate(self, args: tuple[Any, ...], _: Any) -> None:
        file = self.names[self.paths[args[0]]]
        self.data[file] = (self.data[file] or b"")[: args[1]]

    def _fsync(self, args: tuple[Any, ...], _: Any) -> None:
        path = self.paths[args[0]]
        if path.is_dir():
            others = {entry: file for entry, file in self.safe_names.items() if entry.parent != path}
            self.safe_names = others | {entry: file for entry, file in self.names.items() if entry.parent == path}
        else:
            self.safe_data[self.names[path]] = self.data[self.names[path]]

    def _rename(self, args: tuple[Any, ...], _: Any) -> None:
        self.names[Path(args[1])] = self.names.pop(Path(args[0]))

    def _unlink(self, args: tuple[Any, ...], _: Any) -> None:
        del self.names[Path(args[0])]

    _rmdir = _unlink

    def _mkdir(self, args: tuple[Any, ...], _: Any) -> None:
        self.names[Path(args[0])] = file = object()
        self.data[file] = self.safe_data[file] = None

    def copy(self) -> "Disk":
        twin = copy.copy(self)
        twin.names, twin.data = dict(self.names), dict(self.data)
        twin.safe_names, twin.safe_data = dict(self.safe_names), dict(self.safe_data)
        return twin

    def write_to(self, target: Path, chance: random.Random | None) -> None:
        names = dict(self.safe_names)
        if chance:
            for path in self.names.keys() | self.safe_names.keys():
                if self.names.get(path) is not self.safe_names.get(path) and chance.random() < 0.5:
                    names.pop(path, None)
                    names |= {path: self.names[path]} if path in self.names else {}
        target.mkdir()
        for path, file in sorted(names.items()):
            place = target / path.relative_to(self.root)
            if not place.parent.is_dir():
                continue  # its folder was lost
            data, safe = self.data[file], self.safe_data[file]
            if data is None or safe is None:
                place.mkdir()
            else:
                place.write_bytes(chance.choice((data, safe, some_sectors(data, safe, chance))) if chance else safe)


def some_sectors(data: bytes, safe: bytes, chance: random.Random) -> bytes:
    """The size and some sectors got to the disk; the others are what was there before, or zeros."""
    sectors = [slice(at, at + 512) for at in range(0, len(data), 512)]
    return b"".join(
        data[here] if chance.random() < 0.5 else safe[here].ljust(len(data[here]), b"\0")[: len(data[here])]
        for here in sectors
    )


@pytest.mark.usefixtures("small_segments")
@pytest.mark.parametrize(("old", "more"), CASES)
def test_a_power_cut_at_each_step_of_a_commit(ram_folder: Path, make_site: Any, old: int, more: int) -> None:
    site = make_site(ram_folder / "audit")
    if old:
        site.commit(old)
    disk, images = Disk(site.folder), list[tuple[Disk, int | None]]()

    def around(name: str, args: tuple[Any, ...], real: Callable[..., Any]) -> Any:
        result = disk.around(name, args, real)
        if name != "open" or args[1] & os.O_CREAT:
            images.append((disk.copy(), None))
        return result

    with site.open() as log, intercepted(around):
        log.commit(site.records(more))
    images.append((disk, old + more))  # the commit has returned: whatever happens now, it stays
    sizes = set()
    for number, (image, must) in enumerate(images):
        for chance in part((None, random.Random(number), random.Random(-1 - number)), 3 if old > 100 else 1, number):
            site.folder = ram_folder / "image"
            shutil.rmtree(site.folder, ignore_errors=True)
            image.write_to(site.folder, chance)
            sizes.add(site.verify().size)
            assert_all_or_none(site, old, old + more, must=must)
    assert sizes == {old, old + more}
