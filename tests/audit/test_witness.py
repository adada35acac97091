"""A second person's machine: it cosigns what extends what it cosigned last, and nothing else, ever."""

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import audit
from audit.checkpoint import format_checkpoint
from audit.sign import open_signer
from audit.witness import Request, format_request, parse_request
from tests.audit.conftest import Clock, Site

NOW = 1_795_000_000


class Witness:
    def __init__(self, folder: Path, log_key: str) -> None:
        self.state = folder / "state"
        self.key_path = folder / "witness.key"
        self.public_key = audit.generate_key(self.key_path, "witness.example.org/ada")
        self.log_key: str | None = log_key

    def cosign(self, data: bytes, seconds: int = NOW) -> audit.Witnessed:
        given = audit.cosign_checkpoint(data, self.state, key_path=self.key_path, log_key=self.log_key, seconds=seconds)
        self.log_key = None
        return given

    def files(self) -> dict[str, bytes]:
        found = self.state.iterdir() if self.state.is_dir() else ()
        return {path.name: path.read_bytes() for path in found if path.name != "lock"}

    def refuses(self, data: bytes, why: str, seconds: int = NOW) -> None:
        """And forgets nothing of what it knew."""
        before = self.files()
        with pytest.raises(audit.ProofRefused, match=why):
            self.cosign(data, seconds)
        assert self.files() == before


@pytest.fixture
def witness(tmp_path: Path, site: Site) -> Witness:
    (tmp_path / "witness").mkdir()
    return Witness(tmp_path / "witness", site.public_key)


def request(site: Site, since: bytes | None = None) -> bytes:
    return audit.request_witness(site.folder, site.public_key, since)


def test_a_log_is_followed_from_checkpoint_to_checkpoint(site: Site, witness: Witness) -> None:
    kept: bytes | None = None
    for at, size in enumerate((1, 2, 253, 1, 300)):
        site.commit(size)
        given = witness.cosign(request(site, kept), NOW + at)
        assert given.checkpoint == audit.read_checkpoint(site.folder, site.public_key)
        assert (given.before.size if given.before else None) == (sum((1, 2, 253, 1)[:at]) if at else None)
        kept = given.note
        assert audit.verify(site.folder, site.public_key, against=kept, witnesses=[given.witness]).ok
        proven = audit.check_proof(audit.prove(site.folder, site.public_key, 0, kept), site.public_key, [given.witness])
        assert proven.cosigned == {given.witness: NOW + at}


def test_the_same_checkpoint_is_cosigned_again(site: Site, witness: Witness) -> None:
    site.commit(3)
    first = witness.cosign(request(site))
    again = witness.cosign(first.note, NOW + 60)
    assert again.checkpoint == first.checkpoint
    assert again.note != first.note
    assert len(again.note.splitlines()) == len(first.note.splitlines())


def test_an_empty_log_is_extended_by_every_log(site: Site, witness: Witness) -> None:
    given = witness.cosign(request(site))
    assert given.checkpoint.size == 0
    site.commit(5)
    assert witness.cosign(request(site, given.note)).checkpoint.size == 5


def test_a_roll_back_is_refused(site: Site, witness: Witness, tmp_path: Path) -> None:
    site.commit(3)
    shutil.copytree(site.folder, tmp_path / "old")
    old = Site(tmp_path / "old", site.key_path, site.public_key, site.clock)
    site.commit(2)
    witness.cosign(request(site))
    witness.refuses(
        request(old), "roll-back: this witness cosigned 5 entries on 2026-11-.* UTC, and the checkpoint has 3"
    )
    old.commit(2)
    witness.refuses(request(old), "fork: this witness cosigned 5 entries on .* with the root")
    old.commit(1)
    witness.refuses(request(old), "does not prove that the checkpoint extends just those")


def test_a_fork_is_refused_whatever_proof_comes_with_it(site: Site, witness: Witness, tmp_path: Path) -> None:
    site.commit(3)
    shutil.copytree(site.folder, tmp_path / "fork")
    fork = Site(tmp_path / "fork", site.key_path, site.public_key, site.clock)
    site.commit(4)
    cosigned = witness.cosign(request(site)).note
    fork.commit(9)
    with pytest.raises(audit.ProofRefused, match="the given checkpoint: fork: "):
        request(fork, cosigned)
    site.commit(5)
    honest = parse_request(request(site, cosigned))
    note = (fork.folder / "checkpoint").read_bytes()
    for hashes in (honest.hashes, (), honest.hashes[:-1], (bytes(32),)):
        witness.refuses(
            format_request(Request(7, hashes, note)), "fork: this witness cosigned 7 entries .* keep the file"
        )
    witness.refuses(format_request(Request(3, honest.hashes, note)), "does not prove")
    assert witness.cosign(request(site, cosigned)).checkpoint.size == 12


def test_the_same_entries_with_other_bytes_are_refused(site: Site, witness: Witness) -> None:
    """Which only who has the log's key can sign."""
    site.commit(3)
    witness.cosign(request(site))
    honest = audit.read_checkpoint(site.folder, site.public_key)
    note = format_checkpoint(replace(honest, segment_bytes=honest.segment_bytes + 1), open_signer(site.key_path))
    witness.refuses(note, f"fork: .* cosigned 3 entries .* and {honest.segment_bytes} bytes of the same entries")


def test_a_log_has_to_be_known(site: Site, witness: Witness, tmp_path: Path) -> None:
    site.commit(1)
    witness.log_key = None
    witness.refuses(request(site), "does not know the log")
    witness.log_key = audit.generate_key(tmp_path / "stranger", "example.org/cloister")
    witness.refuses(request(site), "not signed by")
    witness.log_key = site.public_key
    witness.cosign(request(site))
    assert witness.cosign(request(site)).before is not None


def test_a_changed_key_is_trusted_only_when_given_and_proves_the_same_history(
    site: Site, witness: Witness, tmp_path: Path
) -> None:
    site.commit(2)
    cosigned = witness.cosign(request(site)).note
    new_key = audit.generate_key(tmp_path / "new.key", "example.org/cloister")
    site.commit(2)
    honest = parse_request(request(site, cosigned))
    checkpoint = audit.read_checkpoint(site.folder, site.public_key)
    rotated = format_request(
        Request(2, honest.hashes, format_checkpoint(checkpoint, open_signer(tmp_path / "new.key")))
    )
    witness.refuses(rotated, "not signed by .*; if the log has another key now, .* --log KEY")
    witness.log_key = new_key
    witness.refuses(format_request(Request(2, (), parse_request(rotated).note)), "fork: ")
    witness.log_key = new_key
    assert witness.cosign(rotated).before is not None
    witness.refuses(format_request(honest), "not signed by")
    assert (witness.state / "example.org%2Fcloister.key").read_text() == f"{site.public_key}\n{new_key}\n"


def test_a_clock_that_goes_back_is_refused(site: Site, witness: Witness) -> None:
    site.commit(1)
    witness.cosign(request(site))
    witness.refuses(request(site), "later than this machine's clock", NOW - 1)


def test_two_logs_do_not_meet(site: Site, witness: Witness, tmp_path: Path) -> None:
    site.commit(3)
    witness.cosign(request(site))
    key = audit.generate_key(tmp_path / "b.key", "example.org/b")
    audit.Log.create(tmp_path / "b", key_path=tmp_path / "b.key", public_key=key)
    witness.log_key = key
    data = audit.request_witness(tmp_path / "b", key)
    assert witness.cosign(data).before is None
    assert sorted(witness.files()) == [
        "example.org%2Fb.checkpoint", "example.org%2Fb.key", "example.org%2Fcloister.checkpoint",
        "example.org%2Fcloister.key",
    ]  # fmt: skip


def test_a_changed_memory_is_noticed(site: Site, witness: Witness) -> None:
    site.commit(3)
    witness.cosign(request(site))
    memory = witness.state / "example.org%2Fcloister.checkpoint"
    memory.write_bytes(memory.read_bytes().replace(b"\n3\n", b"\n2\n"))
    with pytest.raises(audit.ProofRefused, match="not signed by"):
        witness.cosign(request(site))


def test_it_is_remembered_before_it_is_given(site: Site, witness: Witness, monkeypatch: pytest.MonkeyPatch) -> None:
    site.commit(3)

    def full(path: Path, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("audit.witness.write_file_atomically", full)
    with pytest.raises(audit.LogUnwritable, match="No space left"):
        witness.cosign(request(site))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"old",
        b"old \n\n",
        b"old x\n\nnote",
        b"old 1\n\n",
        b"old 1\nAAAA\n\n",
        b"\xff",
        b"a\n1\n",
        b"old 01\n\nx",
    ],
)
def test_other_files_are_refused(witness: Witness, data: bytes) -> None:
    witness.refuses(data, "not cosigned: ")


def test_every_changed_byte_of_a_request_is_noticed(site: Site, witness: Witness) -> None:
    site.commit(3)
    kept = witness.cosign(request(site)).note
    site.commit(6)
    data = request(site, kept)
    for at in range(len(data)):
        for changed in (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at], data[:at] + data[at + 1 :]):
            with pytest.raises(audit.ProofRefused, match="not cosigned: "):
                witness.cosign(changed)
    assert witness.cosign(data).checkpoint.size == 9


def test_requests_are_read_as_they_are_written(make_site: Callable[[Path], Site], tmp_path: Path) -> None:
    for request in (Request(None, (), b"x\n"), Request(0, (), b"x\n"), Request(5, (bytes(32), b"1" * 32), b"x\n")):
        assert parse_request(format_request(request)) == request


def test_of_forks_that_come_at_once_one_is_cosigned(site: Site, witness: Witness, tmp_path: Path) -> None:
    site.commit(2)
    first = witness.cosign(request(site)).note
    asked = []
    for at in range(8):
        fork = Site(tmp_path / f"fork {at}", site.key_path, site.public_key, Clock())
        fork.clock.commits = 100 * at
        shutil.copytree(site.folder, fork.folder)
        fork.commit(3)
        asked.append(request(fork, first))

    def told(data: bytes) -> bytes | str:
        try:
            return witness.cosign(data).note
        except audit.ProofRefused as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(told, asked))
    assert sum("fork: this witness cosigned 5 entries" in each for each in answers if isinstance(each, str)) == 7
    assert witness.files()["example.org%2Fcloister.checkpoint"] in answers
