"""What write_tlog_tiles writes is what https://c2sp.org/tlog-tiles says: read by a reader made from that page alone."""

from collections.abc import Callable
from pathlib import Path

import pytest

import audit
from audit.bundles import format_bundle
from audit.merkle import leaf_hash, root_hash
from tests.audit.conftest import Site


def parse_bundle(data: bytes) -> list[bytes]:
    """The entries of a bundle, each behind its length in two bytes; ValueError where it ends within one."""
    entries: list[bytes] = []
    at = 0
    while at < len(data):
        length, at = int.from_bytes(data[at : at + 2], "big"), at + 2
        if at + length > len(data):
            raise ValueError(f"entry {len(entries)} ends behind the end of the bundle")
        entries.append(data[at : at + length])
        at += length
    return entries


def index_path(index: int) -> str:
    text = f"{index % 1000:03d}"
    while index := index // 1000:
        text = f"x{index % 1000:03d}/{text}"
    return text


def read_as_a_monitor(folder: Path, size: int) -> list[bytes]:
    """All entries of an unpruned log, from its bundles, each held against the tile of its hash."""
    entries: list[bytes] = []
    for index in range(-(-size // 256)):
        width = min(256, size - 256 * index)
        name = index_path(index) + (f".p/{width}" if width < 256 else "")
        hashes, bundle = (folder / f"tile/0/{name}").read_bytes(), (folder / f"tile/entries/{name}").read_bytes()
        assert len(hashes) == 32 * width
        for i in range(width):
            length = bundle[0] << 8 | bundle[1]
            entry, bundle = bundle[2 : 2 + length], bundle[2 + length :]
            assert hashes[32 * i : 32 * i + 32] == leaf_hash(entry)
            entries.append(entry)
        assert bundle == b""
    return entries


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 600, 5000])
def test_a_foreign_monitor_reads_it(site: Site, tmp_path: Path, size: int) -> None:
    if size:
        site.commit(size)
    checkpoint = audit.write_tlog_tiles(site.folder, site.public_key, tmp_path / "out", range(size))
    entries = read_as_a_monitor(tmp_path / "out", size)
    assert entries == [audit.canonical(entry) for entry in site.entries()]
    assert root_hash([leaf_hash(entry) for entry in entries]) == checkpoint.root
    assert (tmp_path / "out/checkpoint").read_bytes() == (site.folder / "checkpoint").read_bytes()
    stored = {str(path.relative_to(site.folder)) for path in (site.folder / "tile").rglob("*") if path.is_file()}
    written = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out/tile").rglob("*") if path.is_file()}
    assert {name for name in written if not name.startswith("tile/entries/")} == stored
    assert all((tmp_path / "out" / name).read_bytes() == (site.folder / name).read_bytes() for name in stored)


@pytest.mark.parametrize(
    ("entries", "bundles"),
    [
        (range(0), set()),
        (range(255, 256), {"000"}),
        (range(255, 257), {"000", "001"}),
        (range(600, 700), {"002.p/188"}),
    ],
)
def test_only_the_bundles_asked_for(site: Site, tmp_path: Path, entries: range, bundles: set[str]) -> None:
    site.commit(700)
    audit.write_tlog_tiles(site.folder, site.public_key, tmp_path / "out", entries)
    folder = tmp_path / "out/tile/entries"
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == bundles


def test_a_bundle_is_read_back_and_no_other_bytes_are() -> None:
    entries = [b"", b"a", b"x" * 65_535]
    data = format_bundle(entries)
    assert data[:5] == b"\0\0\0\1a"
    assert parse_bundle(data) == entries
    for cut in (data[:-1], data + b"\0", data + b"\0\1"):
        with pytest.raises(ValueError, match="ends behind the end"):
            parse_bundle(cut)
    with pytest.raises(OverflowError):
        format_bundle([b"x" * 65_536])


@pytest.mark.parametrize("path", ["entries/000000000000.jsonl", "tile/0/000", "tile/0/001.p/44"])
def test_what_was_not_signed_is_not_exported(
    site: Site, tmp_path: Path, make_site: Callable[[Path], Site], path: str
) -> None:
    site.commit(300)
    data = bytearray((site.folder / path).read_bytes())
    data[len(data) // 2] ^= 1
    (site.folder / path).write_bytes(data)
    with pytest.raises(audit.LogUntrusted, match=r"not the entry that was signed|signed root"):
        audit.write_tlog_tiles(site.folder, site.public_key, tmp_path / "out", range(300))
