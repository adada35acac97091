"""What a whole pass over the entries notices, though each of them is well-formed."""

import itertools
from pathlib import Path
from typing import Any

import pytest

import audit
from audit import read
from audit.merkle import leaf_hash

SEGMENT = "entries/000000000000.jsonl"


def change(folder: Path, n: int) -> bytes:
    """Another score in entry n: it stays canonical, well-formed and as long as it was; its new line."""
    lines = (folder / SEGMENT).read_bytes().split(b"\n")
    lines[n] = lines[n].replace(b"0.25", b"0.75")
    (folder / SEGMENT).write_bytes(b"\n".join(lines))
    return lines[n]


@pytest.mark.parametrize("n", [0, 17, 255, 599])
def test_a_changed_entry_is_noticed_at_the_end_and_named(site: Any, n: int) -> None:
    site.commit(600)
    change(site.folder, n)
    with pytest.raises(audit.LogUntrusted, match=rf"entry {n} \({SEGMENT}, line {n + 1}\): .*; restore the whole"):
        site.entries()


def test_what_a_start_does_not_see_a_pass_does(site: Any) -> None:
    site.commit(600)
    change(site.folder, 5)
    with site.open(), pytest.raises(audit.LogUntrusted, match=r"entry 5 "):
        site.entries()


def test_the_first_of_two_wrong_entries_is_named(site: Any) -> None:
    """Also where the second one, which is no entry at all, ended the pass."""
    site.commit(600)
    change(site.folder, 100)
    file = site.folder / SEGMENT
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:300], b"garbage\n", *lines[301:]]))
    with pytest.raises(audit.LogUntrusted, match=r"entry 100 "):
        site.entries()


def test_an_entry_changed_with_its_hash(site: Any) -> None:
    site.commit(600)
    tile = site.folder / "tile/0/000"
    hashes = tile.read_bytes()
    tile.write_bytes(hashes[: 32 * 9] + leaf_hash(change(site.folder, 9)) + hashes[32 * 10 :])
    with pytest.raises(audit.LogUntrusted, match=r"checkpoint: signs the root .* one of the entries 0 to 255"):
        site.entries()


def test_who_stops_early_or_starts_later_reads_on(site: Any) -> None:
    site.commit(600)
    change(site.folder, 5)
    reader = audit.read_entries(site.folder, site.public_key)
    assert [n for n, _ in itertools.islice(reader, 600)] == list(range(600))
    assert len(list(audit.read_entries(site.folder, site.public_key, start=1))) == 599


def test_the_tail_is_checked_as_a_start_does_and_nothing_is_written(site: Any) -> None:
    site.commit(600)
    before = {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()}
    assert audit.check_tail(site.folder, site.public_key).size == 600
    with site.open():  # whoever holds the lock is not in the way
        assert audit.check_tail(site.folder, site.public_key).size == 600
    assert {path: path.read_bytes() for path in site.folder.rglob("*") if path.is_file()} == before
    change(site.folder, 5)
    assert audit.check_tail(site.folder, site.public_key).size == 600, "which only `verify` finds"
    change(site.folder, 599)
    with pytest.raises(audit.LogUntrusted, match="entry 599"):
        audit.check_tail(site.folder, site.public_key)


def test_a_writer_that_goes_on_meanwhile_is_no_fault(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    site.commit(300)
    real, looks = read.read_head, []

    def while_somebody_commits(folder: Path, key: Any) -> Any:
        looks.append(key)
        if len(looks) < 3:
            site.commit(1)
            raise audit.LogUntrusted("tile", "gone meanwhile")
        return real(folder, key)

    monkeypatch.setattr(read, "read_head", while_somebody_commits)
    assert audit.check_tail(site.folder, site.public_key).size == 302
