"""A log whose key was rotated: what each of its keys, alone, lets a verifier conclude."""

from pathlib import Path

import pytest

import audit
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
