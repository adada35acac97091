"""A sample of the tamperings that `make torture` does 10,000 of; and roll-backs and forks by who has the key."""

import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import audit
import pipeline
from tests.faults.tamper import GOOD, KEPT, NAMED, tamper
from tests.faults.tampering import KINDS, draw
from tests.faults.victim import Victim, make_victim, opened
from tests.thorough import ALL

SEED = 0
NUMBER = 200 if ALL else 100


@pytest.fixture(scope="module")
def ram() -> Iterator[Path]:
    """A folder where fsync costs nothing."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def victim(ram: Path) -> Victim:
    (ram / "victim").mkdir()
    return make_victim(ram / "victim")


def test_tamperings_are_found_and_named(victim: Victim) -> None:
    found = list(tamper(victim, SEED, range(NUMBER)))
    assert [each for each in found if each[2] not in GOOD] == []
    assert {kind for _, kind, _, _ in found} == KINDS.keys()
    counts = Counter(how for _, _, how, _ in found)
    assert counts[NAMED] >= 0.9 * NUMBER
    assert counts[KEPT] >= 1
    assert pipeline.verify(victim.site).complete


def test_a_number_of_a_seed_is_always_the_same(victim: Victim) -> None:
    assert [draw(victim, 1, number) for number in range(30)] == [draw(victim, 1, number) for number in range(30)]
    assert draw(victim, 1, 3) != draw(victim, 2, 3)


def other_histories(victim: Victim, folder: Path, rng: random.Random) -> Iterator[tuple[str, Victim]]:
    """By who has the key: each earlier log goes on in another way, to fewer entries, as many or more."""
    size = audit.read_checkpoint(victim.site.audit, victim.site.public_key).size
    for number, log in enumerate((*victim.logs, *(state / "audit" for state in victim.states))):
        start = audit.read_checkpoint(log, victim.site.public_key).size
        for more in {0, 1, (size - start) // 2, size - start, size - start + rng.randint(1, 300)}:
            root = folder / f"{number}-{more}"
            shutil.copytree(log, root / "audit")
            other = replace(victim, site=replace(victim.site, root=root))
            if more:
                with opened(other.site) as writer:
                    writer.commit([{"type": "note", "run": "other", "i": i} for i in range(more)])
            yield f"{start} + {more} of {size}", other
    root = folder / "new"
    audit.Log.create(root / "audit", key_path=victim.site.key_file, public_key=victim.site.public_key)
    other = replace(victim, site=replace(victim.site, root=root))
    with opened(other.site) as writer:
        writer.commit([{"type": "note", "run": "other", "i": i} for i in range(size)])
    yield "all anew", other


def test_roll_backs_and_forks_with_the_key_are_found_by_a_kept_checkpoint(victim: Victim, ram: Path) -> None:
    """By the last checkpoint, and by each earlier one that signs what is different."""
    key, found = victim.site.public_key, Counter[str]()
    witness = ram / "witness.key"
    audit.generate_key(witness, "witness.example/one")
    state, asked = ram / "state", audit.request_witness(victim.site.audit, key)
    witnessed = audit.cosign_checkpoint(asked, state, key_path=witness, log_key=key, seconds=1_800_000_000)
    for what, other in other_histories(victim, ram / "one", random.Random(1)):
        assert audit.verify(other.site.audit, key).ok, what
        for kept, witnesses in ((victim.kept, []), (witnessed.note, [witnessed.witness])):
            (finding,) = audit.verify(other.site.audit, key, against=kept, witnesses=witnesses).findings
            assert finding.where == "kept checkpoint", what
            found[finding.message.partition(":")[0]] += 1
        asked = audit.request_witness(other.site.audit, key)
        with pytest.raises(audit.ProofRefused):
            audit.cosign_checkpoint(asked, state, key_path=witness, seconds=1_800_000_100)
    assert found.keys() == {"roll-back", "fork"}
    assert min(found.values()) >= 10
    assert pipeline.verify(victim.site, against=victim.kept).complete


def test_a_fork_is_found_by_every_checkpoint_that_signs_more_than_both_share(victim: Victim, ram: Path) -> None:
    key = victim.site.public_key
    kept = [(log / "checkpoint").read_bytes() for log in (*victim.logs, *(state / "audit" for state in victim.states))]
    for what, other in other_histories(victim, ram / "two", random.Random(2)):
        shared = 0 if what == "all anew" else int(what.split()[0])
        for note in random.Random(what).sample(kept, 3):
            found = audit.verify(other.site.audit, key, against=note).findings
            assert bool(found) == (int(note.split(b"\n")[1]) > shared), what
