"""A checkpoint that was kept elsewhere shows what the folder alone cannot: roll-backs and forks, also with the key."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import audit
from audit.checkpoint import Checkpoint, format_checkpoint
from audit.kept import KEPT
from audit.sign import open_signer
from tests.audit.conftest import Site

STEPS = (1, 1, 1, 5, 248, 1, 1, 40)


def note_of(site: Site) -> bytes:
    return (site.folder / "checkpoint").read_bytes()


def held(site: Site, note: bytes, folder: Path | None = None) -> list[str]:
    """What a verification of an otherwise sound log says of a kept checkpoint."""
    report = audit.verify(folder or site.folder, site.public_key, against=note)
    assert all(finding.where == KEPT for finding in report.findings)
    return [finding.message for finding in report.findings]


@pytest.fixture
def other(tmp_path: Path, make_site: Callable[[Path], Site]) -> Site:
    """Another log of the same key and origin; its clock is another."""
    made = make_site(tmp_path / "other")
    made.clock.commits = 1000
    return made


def test_a_log_extends_each_of_its_checkpoints(site: Site) -> None:
    kept = [note_of(site)]
    for size in STEPS:
        site.commit(size)
        kept.append(note_of(site))
        for note in kept:
            assert held(site, note) == []


def test_every_roll_back_is_named(site: Site, tmp_path: Path) -> None:
    """The whole folder, put back to each earlier state: alone, nothing is wrong with it."""
    states = []
    for at, size in enumerate((0, *STEPS)):
        if size:
            site.commit(size)
        states.append(tmp_path / f"state {at}")
        shutil.copytree(site.folder, states[-1])
    for at, state in enumerate(states[:-1]):
        assert audit.verify(state, site.public_key).ok
        for later in states[at + 1 :]:
            (message,) = held(site, (later / "checkpoint").read_bytes(), state)
            assert message.startswith("roll-back: it signs ")
            assert message.endswith(f"the log has {sum(STEPS[:at])}: what was signed has been taken away")


def test_every_fork_is_named(site: Site, other: Site, tmp_path: Path) -> None:
    """Made with the key: the logs agree up to some entry, and then they do not."""
    for size in STEPS:
        fork = tmp_path / f"fork at {size} {len(list(tmp_path.iterdir()))}"
        shutil.copytree(site.folder, fork)
        site.commit(size)
        forked = Site(fork, site.key_path, site.public_key, other.clock)
        for more in (size, 3, 300):
            forked.commit(more)
            report = audit.verify(fork, site.public_key)
            assert report.ok
            (message,) = held(site, note_of(site), fork)
            assert message.startswith("fork: it signs the root ")
        (message,) = held(site, note_of(site), other.folder)
        assert message.startswith("roll-back: ")


def test_the_same_entries_with_other_bytes_are_a_fork(site: Site) -> None:
    site.commit(3)
    today = audit.read_checkpoint(site.folder, site.public_key)
    lied = Checkpoint(today.origin, today.size, today.root, today.segment_bytes + 1)
    (message,) = held(site, format_checkpoint(lied, open_signer(site.key_path)))
    assert message.startswith("fork: it signs ")
    assert "bytes of the same entries" in message


@pytest.mark.parametrize("data", [b"", b"\n\n", b"nothing", b"\xff\xfe", b"a\n1\n\n\xe2\x80\x94 a QUJD\n"])
def test_what_is_no_checkpoint_is_told(site: Site, data: bytes) -> None:
    (message,) = held(site, data)
    assert message.startswith("nothing can be held against it: ")


def test_a_checkpoint_of_another_key_is_told(site: Site, tmp_path: Path) -> None:
    stranger = audit.generate_key(tmp_path / "stranger.key", "example.org/cloister")
    audit.Log.create(tmp_path / "strange", key_path=tmp_path / "stranger.key", public_key=stranger)
    (message,) = held(site, (tmp_path / "strange/checkpoint").read_bytes())
    assert "not signed by" in message


def test_every_changed_byte_of_a_kept_checkpoint_is_noticed(site: Site) -> None:
    site.commit(2)
    note = note_of(site)
    for at in range(len(note)):
        assert held(site, note[:at] + bytes([note[at] ^ 1]) + note[at + 1 :])
        assert held(site, note[:at] + note[at + 1 :])


def test_damage_is_told_beside_it(site: Site) -> None:
    site.commit(300)
    note = note_of(site)
    (site.folder / "tile/0/001.p/44").unlink()
    report = audit.verify(site.folder, site.public_key, against=note)
    assert [f.message for f in report.findings if f.where == KEPT] == [
        "cannot be held against the log: tile/0/001.p/44: 0 bytes, expected 1408"
    ]
    assert any(finding.where == "tile/0/001.p/44" for finding in report.findings)


def test_checkpoints_of_earlier_keys_still_hold(site: Site, tmp_path: Path) -> None:
    """Up to the entry at which each handed over, and no further."""
    site.commit(3)
    kept, old = [note_of(site)], site
    shutil.copytree(site.folder, tmp_path / "before")
    for number in (1, 2):
        key_path = tmp_path / f"{number}.key"
        public_key = audit.generate_key(key_path, "example.org/cloister")
        with site.open() as log:
            log.rotate({"run": "r"}, key_path=key_path, public_key=public_key)
            kept.append(note_of(site))
        site = Site(site.folder, key_path, public_key, site.clock)
        site.commit(2)
    assert [held(site, note) for note in kept] == [[], [], []]
    assert audit.prove(site.folder, site.public_key, 1, kept[0])
    assert audit.request_witness(site.folder, site.public_key, kept[0]).startswith(b"old 3\n")
    Site(tmp_path / "before", old.key_path, old.public_key, old.clock).commit(2)
    assert held(site, (tmp_path / "before/checkpoint").read_bytes())[0].startswith("fork: it signs the root ")
    (_, finding) = audit.verify(tmp_path / "before", site.public_key, against=note_of(site)).findings
    assert finding == audit.Finding(KEPT, "roll-back or fork: it has 9 entries under the trusted key, the log has none")
    (_, finding) = audit.verify(tmp_path / "before", site.public_key, against=kept[0]).findings
    assert finding.message.startswith("nothing can be held against it: not signed by")
    today = audit.read_checkpoint(site.folder, site.public_key)
    late = format_checkpoint(today, open_signer(old.key_path))
    assert held(site, late) == ["fork: it signs 9 entries with a key that handed over to another at entry 3"]
