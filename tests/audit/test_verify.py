"""Whatever is changed in a copy of a log is found, and the first wrong entry or file is named."""

import os
import random
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import audit
from audit.merkle import Tree, leaf_hash, split_hashes
from tests.thorough import part

SEGMENT = "entries/000000000000.jsonl"


def culprit(file: Path, data: bytes, changed: bytes, folder: Path) -> tuple[str, int | None]:
    """What must be named first when a file that was `data` is `changed`, as (where, entry): the first byte decides."""
    path = str(file.relative_to(folder))
    if path != SEGMENT:
        return path, None
    at = next((i for i, (a, b) in enumerate(zip(data, changed, strict=False)) if a != b), min(len(data), len(changed)))
    n = data[:at].count(b"\n")
    return (f"entry {n} ({SEGMENT}, line {n + 1})", n) if at < len(data) else (f"{SEGMENT}, line {n + 1}", None)


def changes(data: bytes, at: int) -> Iterator[bytes]:
    for bits in (0x01, 0x02, 0x80):
        yield data[:at] + bytes([data[at] ^ bits]) + data[at + 1 :]
    yield data[:at] + data[at + 1 :]
    for byte in (b"\n", b"0"):
        yield data[:at] + byte + data[at:]


def assert_found(site: Any, file: Path, offsets: Iterable[int], kinds: slice = slice(None)) -> int:
    data, tried = file.read_bytes(), 0
    for at in offsets:
        for changed in list(changes(data, at))[kinds]:
            if changed == data:
                continue
            file.write_bytes(changed)
            report = site.verify()
            assert report.findings, (file, at, changed[at : at + 1])
            found = report.findings[0]
            assert (found.where, found.entry) == culprit(file, data, changed, site.folder), (at, report)
            tried += 1
    file.write_bytes(data)
    return tried


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_every_byte_of_a_small_log(ram_folder: Path, make_site: Any) -> None:
    site = make_site(ram_folder / "audit")
    site.commit(3, 2)
    tried = 0
    for file in files(site.folder):
        for kind in part(range(3), 3):
            offsets = range(file.stat().st_size)
            tried += sum(assert_found(site, file, offsets[at::3], slice((at + kind) % 3, None, 3)) for at in range(3))
    assert tried > 2400
    assert site.verify().ok


def test_bytes_of_a_log_with_full_tiles(ram_folder: Path, make_site: Any) -> None:
    """All bytes of the checkpoint and of chosen entries, and some bytes everywhere."""
    site = make_site(ram_folder / "audit")
    site.commit(250, 10, 3)
    data = (site.folder / SEGMENT).read_bytes()
    starts = [0, *(i + 1 for i, byte in enumerate(data) if byte == ord("\n"))]
    chance = random.Random(7)
    for n in (255, 262):
        assert_found(site, site.folder / SEGMENT, part(range(starts[n], starts[n + 1]), 3), slice(0, 1))
    for file in files(site.folder):
        size = file.stat().st_size
        assert_found(site, file, iter(chance.sample(range(size), min(24, size))), slice(chance.randrange(3), None, 3))
    assert site.verify().ok


def test_every_length_of_every_file(ram_folder: Path, make_site: Any) -> None:
    site = make_site(ram_folder / "audit")
    site.commit(3, 2)
    for file in files(site.folder):
        data = file.read_bytes()
        for length in range(len(data)):
            file.write_bytes(data[:length])
            found = site.verify().findings[0]
            assert (found.where, found.entry) == culprit(file, data, data[:length], site.folder)
        file.write_bytes(data)
    assert site.verify().ok


def test_what_is_added_behind_a_file(ram_folder: Path, make_site: Any) -> None:
    site = make_site(ram_folder / "audit")
    site.commit(300)
    for file in files(site.folder):
        data = file.read_bytes()
        for more in (b"x", b"\n", b" ", b"[", b"}", b'"', b"{}\n", b'{"n":300}\n', b"\0\n", data or b"y"):
            file.write_bytes(data + more)
            report = site.verify()
            where = culprit(file, data, data + more, site.folder)[0]
            assert [finding.where for finding in report.findings] == [where], more
        file.write_bytes(data)
    assert site.verify().ok


def test_what_an_interrupted_commit_leaves_is_a_note(ram_folder: Path, make_site: Any) -> None:
    """Each length of the entries of a commit whose checkpoint was never placed, and zeros for lost bytes."""
    site = make_site(ram_folder / "audit")
    site.commit(2)
    shutil.copytree(site.folder, ram_folder / "base")
    site.commit(2)
    whole, old = (site.folder / SEGMENT).read_bytes(), (ram_folder / "base" / SEGMENT).read_bytes()
    for length in range(len(old) + 1, len(whole) + 1):
        for rest in (b"", b"\0" * 7):
            (ram_folder / "base" / SEGMENT).write_bytes(whole[:length] + rest)
            report = site.verify(ram_folder / "base")
            assert report.ok, report.findings
            entries = whole[:length].count(b"\n") - 2
            assert f"{length - len(old) + len(rest)} bytes ({entries} whole entries)" in report.notes[0]
            assert report.size == 2


def test_entries_that_nobody_signed_are_never_read(site: Any) -> None:
    """Well-formed entries appended by someone without the key are at most an interrupted commit."""
    site.commit(3)
    checkpoint = (site.folder / "checkpoint").read_bytes()
    forged = audit.canonical({**site.entries()[2], "n": 3}) + b"\n"
    with (site.folder / SEGMENT).open("ab") as file:
        file.write(forged)
    assert len(site.entries()) == 3
    assert site.verify().size == 3
    with site.open() as log:
        assert log.cut == audit.Cut(len(forged), 1, 0)
    assert (site.folder / "checkpoint").read_bytes() == checkpoint


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory, key: Any) -> Any:
    """9,000 entries: three segments, thirty-six tiles. Tests change copies of it."""
    folder = tmp_path_factory.mktemp("large") / "audit"
    audit.Log.create(folder, key_path=key[0], public_key=key[1])
    with audit.Log.open(folder, key_path=key[0], public_key=key[1]) as log:
        for _ in range(9):
            log.commit([{"type": "x", "run": "r", "i": i} for i in range(1000)])
    return folder, key[1]


@pytest.fixture
def copy(large: Any, tmp_path: Path) -> tuple[Path, str]:
    shutil.copytree(large[0], tmp_path / "copy")
    return tmp_path / "copy", large[1]


def first(copy: tuple[Path, str]) -> tuple[str, int | None]:
    finding = audit.verify(*copy).findings[0]
    return finding.where, finding.entry


SEGMENTS = ["entries/000000000000.jsonl", "entries/000000004096.jsonl", "entries/000000008192.jsonl"]


def test_a_removed_segment(copy: tuple[Path, str]) -> None:
    (copy[0] / SEGMENTS[1]).unlink()
    assert first(copy) == (f"entry 4096 ({SEGMENTS[1]}, line 1)", 4096)


def test_swapped_segments(copy: tuple[Path, str]) -> None:
    for a, b in ((0, 1), (1, 0)):
        (copy[0] / SEGMENTS[a]).rename(copy[0] / f"entries/{b}")
    for number, name in enumerate(SEGMENTS[:2]):
        (copy[0] / f"entries/{number}").rename(copy[0] / name)
    assert first(copy) == (f"entry 0 ({SEGMENTS[0]}, line 1)", 0)


def test_an_entry_moved_between_segments(copy: tuple[Path, str]) -> None:
    """The total of the segments' bytes is the same: a start does not see it, a verification does."""
    one, two = (copy[0] / name for name in SEGMENTS[:2])
    line, rest = two.read_bytes().split(b"\n", 1)
    one.write_bytes(one.read_bytes() + line + b"\n")
    two.write_bytes(rest)
    assert first(copy)[1] == 4096


def test_swapped_entries(copy: tuple[Path, str]) -> None:
    lines = (copy[0] / SEGMENTS[1]).read_bytes().splitlines(keepends=True)
    lines[700], lines[701] = lines[701], lines[700]
    (copy[0] / SEGMENTS[1]).write_bytes(b"".join(lines))
    assert first(copy) == (f"entry 4796 ({SEGMENTS[1]}, line 701)", 4796)


def test_a_single_digit_in_each_of_some_entries(copy: tuple[Path, str]) -> None:
    """Entries that stay well-formed: only their hash tells."""
    chance = random.Random(3)
    for n in (0, 255, 256, 4095, 4096, 8191, 8192, 8999, *(chance.randrange(9000) for _ in range(2))):
        file = copy[0] / SEGMENTS[n // 4096]
        data = file.read_bytes()
        lines = data.splitlines(keepends=True)
        lines[n % 4096] = lines[n % 4096].replace(b'"run":"r"', b'"run":"s"')
        file.write_bytes(b"".join(lines))
        assert first(copy) == (f"entry {n} ({SEGMENTS[n // 4096]}, line {n % 4096 + 1})", n)
        file.write_bytes(data)
    assert audit.verify(*copy).ok


def test_the_first_of_two_wrong_entries(copy: tuple[Path, str]) -> None:
    file = copy[0] / SEGMENTS[0]
    lines = file.read_bytes().splitlines(keepends=True)
    lines[3000] = b"garbage\n"
    lines[2999] = lines[2999].replace(b'"run":"r"', b'"run":"s"')
    file.write_bytes(b"".join(lines))
    assert first(copy)[1] == 2999


def test_an_entry_and_its_hash(copy: tuple[Path, str]) -> None:
    """Whoever changes an entry and its hash cannot change the root: the tile above tells in which 256 it lies."""
    file, tile, n = copy[0] / SEGMENTS[1], copy[0] / "tile/0/019", 5000
    lines = file.read_bytes().splitlines(keepends=True)
    lines[n % 4096] = lines[n % 4096].replace(b'"run":"r"', b'"run":"s"')
    file.write_bytes(b"".join(lines))
    hashes = split_hashes(tile.read_bytes())
    hashes[n % 256] = leaf_hash(lines[n % 4096][:-1])
    tile.write_bytes(b"".join(hashes))
    (finding,) = audit.verify(*copy).findings
    assert (finding.where, finding.entry) == ("checkpoint", None)
    assert finding.message.endswith("by tile/1/000.p/35 one of the entries 4864 to 5119 was changed")
    (copy[0] / "tile/0/020").write_bytes(bytes(8192))
    assert first(copy)[1] == 5120
    assert "or the tile is wrong" in audit.verify(*copy).findings[0].message


def test_a_whole_history_without_the_key(tmp_path: Path, make_site: Any) -> None:
    """Another history's entries and tiles under this log's checkpoint: they fit each other, but not what was signed."""
    site, other = make_site(tmp_path / "site"), make_site(tmp_path / "other")
    site.commit(300)
    other.commit(299, 1)
    shutil.copy(site.folder / "checkpoint", other.folder / "checkpoint")
    (finding,) = other.verify().findings
    assert finding.where == "checkpoint"
    assert "the entries and their tiles give" in finding.message
    with pytest.raises(audit.LogUntrusted):
        other.open()


def test_wrong_and_missing_tiles_of_each_level(copy: tuple[Path, str]) -> None:
    for path in ("tile/0/000", "tile/0/034", "tile/0/035.p/40", "tile/1/000.p/35"):
        tile = copy[0] / path
        data = tile.read_bytes()
        tile.write_bytes(data[:32] + bytes(32) + data[64:])
        report = audit.verify(*copy)
        assert [finding.where for finding in report.findings] == [path]
        assert f"hash 1 is {'0' * 64}, expected {data[32:64].hex()}" in report.findings[0].message
        tile.unlink()
        assert [finding.where for finding in audit.verify(*copy).findings] == [path]
        tile.write_bytes(data)
    assert audit.verify(*copy).ok


def test_a_wrong_entry_beside_a_wrong_tile_of_the_upper_level(copy: tuple[Path, str]) -> None:
    (copy[0] / "tile/1/000.p/35").write_bytes(bytes(35 * 32))
    file = copy[0] / SEGMENTS[0]
    file.write_bytes(file.read_bytes().replace(b'"run":"r"', b'"run":"s"', 1))
    assert [finding.where for finding in audit.verify(*copy).findings] == [
        f"entry 0 ({SEGMENTS[0]}, line 1)",
        "tile/1/000.p/35",
    ]


@pytest.mark.parametrize(
    "path",
    ["notes.txt", ".hidden", "entries/x", "entries/000000000000.jsonl.bak", "entries/000000000001.jsonl",
     "entries/sub/x", "entries/000000012288.jsonl", "tile/0/036", "tile/0/035.p/41", "tile/0/035.p/39x",
     "tile/5/000", "tile/x", "tile/0/1", "checkpoint.bak", "checkpoint.tmp", "lock.tmp", "a\nb", "tile/entries/000"],
)  # fmt: skip
def test_unknown_and_stale_files(copy: tuple[Path, str], path: str) -> None:
    (copy[0] / path).parent.mkdir(parents=True, exist_ok=True)
    other = (copy[0] / "tile/0/035.p/40").read_bytes()[0] ^ 1  # a byte no tile begins with, which would only be stale
    (copy[0] / path).write_bytes(bytes([other]))
    assert path in [finding.where for finding in audit.verify(*copy).findings]


def test_a_stale_tile_is_a_note_only_with_the_right_hashes(copy: tuple[Path, str]) -> None:
    data = (copy[0] / "tile/0/035.p/40").read_bytes()
    stale = copy[0] / "tile/0/035.p/39"
    stale.write_bytes(data[: 39 * 32])
    assert audit.verify(*copy).ok
    assert "tile/0/035.p/39" in audit.verify(*copy).notes[0]
    stale.write_bytes(data[: 38 * 32] + bytes(32))
    assert audit.verify(*copy).ok  # as a write that was cut by a power loss leaves it
    stale.write_bytes(bytes([data[0] ^ 1]) + data[1 : 39 * 32])
    assert first(copy) == ("tile/0/035.p/39", None)


@pytest.mark.parametrize("kind", ["link", "link to a folder", "pipe", "folder"])
def test_what_is_neither_file_nor_folder(copy: tuple[Path, str], kind: str, tmp_path: Path) -> None:
    path = copy[0] / "extra"
    {
        "link": lambda: path.symlink_to(copy[0] / "checkpoint"),
        "link to a folder": lambda: path.symlink_to(tmp_path),
        "pipe": lambda: os.mkfifo(path),
        "folder": path.mkdir,
    }[kind]()
    assert [finding.where for finding in audit.verify(*copy).findings] == ["extra"]


@pytest.mark.parametrize("path", ["lock", "checkpoint", SEGMENT, "tile/0/000", "tile/0/035.p/40", "entries", "tile/1"])
def test_links_and_pipes_in_the_place_of_files(copy: tuple[Path, str], path: str, tmp_path: Path) -> None:
    (copy[0] / path).rename(tmp_path / "moved")
    (copy[0] / path).symlink_to(tmp_path / "moved")
    assert not audit.verify(*copy).ok
    (copy[0] / path).unlink()
    os.mkfifo(copy[0] / path)
    assert path in str(audit.verify(*copy).findings)


def test_a_tree_of_the_report(large: Any) -> None:
    report = audit.verify(*large)
    tree = Tree()
    for name in SEGMENTS:
        for line in (large[0] / name).read_bytes().splitlines():
            tree.append(leaf_hash(line))
    assert (report.root, report.size, report.ok) == (tree.root(), 9000, True)


@pytest.mark.parametrize("place", [".", "entries", "tile/0"])
def test_folders_nested_deeper_than_anybody_can_walk(site: Any, place: str) -> None:
    """They are named, and neither verification nor a writer ends with them."""
    site.commit(300)
    deep = site.folder / place / "d"
    at = os.open(deep.parent, os.O_RDONLY)
    try:
        for _ in range(1_500):
            os.mkdir("d", dir_fd=at)
            below = os.open("d", os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = below
        report = site.verify()
        site.commit(1)
    finally:
        os.close(at)
        subprocess.run(["rm", "-rf", deep], check=True)  # shutil.rmtree calls itself for each
    assert report.sound
    assert any("deeper than any of a log" in finding.message for finding in report.findings)
    assert {finding.where for finding in report.findings} >= {str(deep.relative_to(site.folder))}
    assert site.verify().ok
