"""What lies behind the checkpoint: a start refuses what verification reports, and cuts what it only notes."""

import errno
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import audit
from audit import log as log_module
from audit.stored import is_torn

SEGMENT = "entries/000000000000.jsonl"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_refused(site: Any, where: str) -> None:
    """By both, with the same words, and nothing is removed."""
    before = contents(site.folder)
    (finding, *_) = site.verify().findings
    assert finding.where.startswith(where)
    with pytest.raises(audit.LogUntrusted) as refused:
        site.open()
    assert (refused.value.where, refused.value.message) == (finding.where, finding.message)
    assert "nothing was removed: keep a copy as evidence" in str(refused.value)
    assert contents(site.folder) == before


def assert_cut(site: Any, base: dict[str, bytes]) -> None:
    assert site.verify().notes
    assert site.verify().ok
    with site.open() as log:
        assert log.cut
    assert contents(site.folder) == base


@pytest.mark.parametrize("size", [0, 3, 300, 4096])
def test_bytes_behind_the_last_entry(ram_folder: Path, make_site: Any, size: int) -> None:
    site = make_site(ram_folder / "audit")
    if size:
        site.commit(size)
    base = contents(site.folder)
    file = site.folder / SEGMENT
    data = file.read_bytes() if size else b""
    last = data.splitlines(keepends=True)[-1] if size else b"{}\n"
    for more in (b"hello\n", b"hello", last, b"\n", b"\0\n", b'{"n":300}\n', b"[", b'{"a"' + b"\0" * 9 + b"}\n"):
        file.write_bytes(data + more)
        assert_refused(site, f"{SEGMENT}, line {size + 1}")
        file.write_bytes(data)
    for more in (b"{", last[:100].removesuffix(b"}\n"), b"\0" * 700, b'{"a' + b"\0" * 3000):
        file.write_bytes(data + more)
        assert_cut(site, base | {SEGMENT: data} if size else base)


def test_sectors_that_a_power_cut_lost(ram_folder: Path, make_site: Any) -> None:
    """Any of those that the append wrote, in any number, is zeros: all of it is cut."""
    site = make_site(ram_folder / "audit")
    site.commit(3)
    base = contents(site.folder)
    site.commit(40)
    whole = (site.folder / SEGMENT).read_bytes()
    shutil.rmtree(site.folder / "tile/0")
    for path, data in base.items():
        (site.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (site.folder / path).write_bytes(data)
    start, chance = len(base[SEGMENT]), random.Random(1)
    for _ in range(60):
        written = bytearray(whole[: chance.randrange(start + 1, len(whole))])
        for at in range(0, len(written), 512):
            if chance.random() < 0.3:
                lost = slice(max(at, start), min(at + 512, len(written)))
                written[lost] = bytes(len(written[lost]))
        (site.folder / SEGMENT).write_bytes(written)
        assert_cut(site, base)


def test_a_tile_of_which_sectors_were_lost() -> None:
    tile = random.Random(2).randbytes(8192)
    assert is_torn(tile[:512] + bytes(512) + tile[1024:3000], tile)
    assert is_torn(bytes(8192), tile)
    assert not is_torn(tile[:500] + bytes(1) + tile[501:], tile)
    assert not is_torn(tile + b"x", tile)


def test_tiles_behind_the_checkpoint(ram_folder: Path, make_site: Any) -> None:
    """Stale ones of the edge and inside of it, and new ones of entries that are not there."""
    site = make_site(ram_folder / "audit")
    site.commit(300)
    base = contents(site.folder)
    for path, full in (("tile/0/000.p/17", "tile/0/000"), ("tile/0/001.p/40", "tile/0/001.p/44")):
        data = base[full][: 32 * int(path.rpartition("/")[2])]
        for wrong in (data[:5] + b"x" + data[6:], data + b"x"):
            (site.folder / path).parent.mkdir(exist_ok=True)
            (site.folder / path).write_bytes(wrong)
            assert_refused(site, path)
        (site.folder / path).write_bytes(data)
        assert_cut(site, base)
    for path in ("tile/0/001.p/45", "tile/0/002", "tile/1/000.p/2", "tile/7/000"):
        (site.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (site.folder / path).write_bytes(bytes(31) + b"x")
        assert_refused(site, path)
        (site.folder / path).unlink()


def test_other_files_of_a_commit(site: Any) -> None:
    site.commit(3)
    for path in ("checkpoint.tmp", "entries/000000012288.jsonl"):
        (site.folder / path).write_bytes(b"x")
        assert_refused(site, path)
        (site.folder / path).unlink()
    (site.folder / "entries/notes").write_bytes(b"x")  # nothing that a commit makes: a matter of verification alone
    assert site.verify().findings
    site.open().close()
    assert (site.folder / "entries/notes").exists()


def test_a_start_makes_durable_what_it_judges(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is read; where that fails nothing is cut."""
    site.commit(3)
    with (site.folder / SEGMENT).open("ab") as file:
        file.write(b"{")
    before = contents(site.folder)

    def fail(folder: Path) -> None:
        raise OSError(errno.EIO, "Input/output error", str(folder))

    monkeypatch.setattr(log_module, "sync_filesystem", fail)
    with pytest.raises(audit.LogUnwritable, match="Input/output error"):
        site.open()
    assert contents(site.folder) == before
