"""A log whose key was rotated: what each of its keys, alone, lets a verifier conclude."""

import dataclasses
import re
import shutil
from pathlib import Path

import pytest

import audit
from audit import rotation
from audit.checkpoint import format_checkpoint
from audit.rotation import format_rotation
from audit.sign import Signer, open_signer, sign_note
from tests.audit.conftest import ORIGIN, Clock


class Rotated:
    """A log of 300 entries by the first key, 400 by the second (the handover among them) and 2 by the third."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder / "audit", Clock()
        self.paths = [folder / f"{n}.key" for n in range(4)]
        self.keys = [audit.generate_key(path, ORIGIN) for path in self.paths]
        self.checkpoints = list[bytes]()
        audit.Log.create(self.folder, key_path=self.paths[0], public_key=self.keys[0])
        for n, records in enumerate((300, 399)):
            with self.open(n) as log:
                log.commit([{"type": "x", "run": "r"}] * records)
                self.checkpoints.append((self.folder / "checkpoint").read_bytes())
                log.rotate({"run": ""}, key_path=self.paths[n + 1], public_key=self.keys[n + 1])
        self.commit(2)

    def open(self, n: int) -> audit.Log:
        return audit.Log.open(self.folder, key_path=self.paths[n], public_key=self.keys[n], stamp=self.clock)

    def commit(self, n: int) -> None:
        with self.open(n) as log:
            log.commit([{"type": "x", "run": "r"}])


@pytest.fixture
def log(ram_folder: Path) -> Rotated:
    return Rotated(ram_folder)


def test_todays_key_proves_the_earlier_ones(log: Rotated) -> None:
    report = audit.verify(log.folder, log.keys[2])
    assert (report.size, report.findings, report.notes) == (702, [], [])
    assert audit.key_history(log.folder, log.keys[2]) == log.keys[:2]
    found = audit.rotations(log.folder, log.keys[2])
    assert [(each.n, each.old_key, each.new_key) for each in found] == [
        (300, *log.keys[0:2]),
        (700, *log.keys[1:3]),
    ]
    assert [each.before.size for each in found] == [300, 700]


def test_an_earlier_key_leads_to_todays(log: Rotated) -> None:
    assert [audit.current_key(log.folder, key) for key in log.keys[:3]] == [log.keys[2]] * 3
    with pytest.raises(audit.LogUntrusted, match="nor by a key that this one handed over to"):
        audit.current_key(log.folder, log.keys[3])
    for key in (*log.keys[:2], log.keys[3]):
        (finding,) = audit.verify(log.folder, key).findings
        assert "not signed by" in finding.message
        with pytest.raises(audit.LogUntrusted):
            audit.key_history(log.folder, key)


def signers(log: Rotated) -> list[Signer]:
    return [open_signer(path) for path in log.paths]


def handover(log: Rotated, old: int, new: int, **changed: object) -> dict[str, object]:
    """A record for the next entry of the log: from one of its keys to another, over another state if that is given."""
    before = dataclasses.replace(audit.read_checkpoint(log.folder, log.keys[2]), **changed)  # type: ignore[arg-type]
    return {"run": "", **format_rotation(before, signers(log)[old], signers(log)[new])}


def commit_as(log: Rotated, record: dict[str, object], signer: int) -> audit.VerifyReport:
    """What only somebody with the private keys can do: an entry that Log.commit refuses."""
    with log.open(2) as writer:
        writer._commit([record], signers(log)[signer])
    return audit.verify(log.folder, log.keys[signer])


def test_a_handover_that_its_keys_did_not_sign_so_is_named(log: Rotated) -> None:
    shutil.copytree(log.folder, log.folder.with_name("kept"))
    right = handover(log, 2, 3)
    note, earlier = str(right["note"]), next(e for _, e in audit.read_entries(log.folder, log.keys[2], start=300))
    own = {name: earlier[name] for name in ("type", "run", "old_key", "new_key", "note")}
    text, _, lines = note.rpartition("\n\n")
    first, second = lines.splitlines()
    wrong: dict[str, tuple[dict[str, object], str]] = {
        "an earlier one once more": (own, "signed for entry 300"),
        "other entries": (handover(log, 2, 3, root=bytes(32)), "of entries with the root 0000"),
        "fewer bytes": (handover(log, 2, 3, segment_bytes=1), "of 1 bytes of entries"),
        "another number": (handover(log, 2, 3, size=701), "signed for entry 701"),
        "another log": (handover(log, 2, 3, origin="another"), "of another log"),
        "from a key that signs no more": (handover(log, 0, 3), f"but {re.escape(log.keys[2])} signed then"),
        "one signature": (right | {"note": f"{text}\n\n{first}\n"}, "not in the one form"),
        "three": (right | {"note": note + first + "\n"}, "not in the one form"),
        "in the other order": (right | {"note": f"{text}\n\n{second}\n{first}\n"}, "not signed by"),
        "another key named": (right | {"new_key": log.keys[1]}, "not signed by"),
        "a line more": (right | {"note": sign_note(f"{text}\nx\n", *signers(log)[2:]).decode()}, "not|no|expected"),
        "no note": ({name: right[name] for name in right if name != "note"}, "note is None"),
        "a private key": (right | {"old_key": log.paths[2].read_text()}, "private key"),
    }  # fmt: skip
    for name, (record, message) in wrong.items():
        shutil.rmtree(log.folder)
        shutil.copytree(log.folder.with_name("kept"), log.folder)
        (finding, *more) = commit_as(log, record, 2).findings
        assert finding.entry == 702, name
        assert "no handover of keys" in finding.message, name
        assert re.search(message, finding.message), (name, finding.message)
        assert not more or "last handover" in more[0].message, name
        assert audit.key_history(log.folder, log.keys[2]) == log.keys[:2], name


def test_who_hands_over_signs_no_more(log: Rotated) -> None:
    report = commit_as(log, handover(log, 2, 3), 2)
    assert [finding.message for finding in report.findings] == [
        f"signed by {log.keys[2]}, but the last handover was to {log.keys[3]}"
    ]


def make_folder(log: Rotated) -> Path:
    (folder := log.folder.parent / "other").mkdir()
    return folder


def test_a_foreign_key_appoints_nobody(log: Rotated) -> None:
    """Without the old key's signature no other key is followed to."""
    with pytest.raises(audit.LogUntrusted):
        audit.current_key(log.folder, log.keys[3])
    other = Rotated(make_folder(log))
    assert not set(other.keys) & {audit.current_key(log.folder, key) for key in log.keys[:3]}


def test_commits_make_no_handover(log: Rotated) -> None:
    with log.open(2) as writer:
        with pytest.raises(ValueError, match=r"made by Log\.rotate alone"):
            writer.commit([{"type": "x", "run": ""}, handover(log, 2, 3)])
        with pytest.raises(audit.KeyRefused, match="does not come back"):
            writer.rotate({"run": ""}, key_path=log.paths[0], public_key=log.keys[0])
        assert writer.next_index == 702
        assert writer.commit([{"type": "x", "run": ""}]) == 702


def test_checkpoints_kept_from_each_key_hold(log: Rotated) -> None:
    for kept in log.checkpoints:
        assert audit.verify(log.folder, log.keys[2], against=kept).ok
    after = format_checkpoint(audit.read_checkpoint(log.folder, log.keys[2]), signers(log)[0])
    (finding,) = audit.verify(log.folder, log.keys[2], against=after).findings
    assert "a key that handed over" in finding.message


def test_the_marks_of_handovers_are_found_across_pieces(log: Rotated, monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (1, 7, 64, 4096):
        monkeypatch.setattr(rotation, "_CHUNK", chunk)
        assert audit.key_history(log.folder, log.keys[2]) == log.keys[:2]
