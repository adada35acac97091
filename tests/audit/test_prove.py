"""One entry with its proof as a file, which is checked without the log."""

from base64 import b64decode, b64encode
from pathlib import Path

import pytest

import audit
from audit.prove import ProofFile, format_proof, parse_proof
from audit.sign import open_signer
from tests.audit.conftest import Site


@pytest.mark.parametrize("sizes", [(1,), (2,), (3, 4), (200, 57), (255, 1, 1), (513,)])
def test_every_entry_is_proved(site: Site, sizes: tuple[int, ...]) -> None:
    site.commit(*sizes)
    checkpoint = audit.read_checkpoint(site.folder, site.public_key)
    for n, entry in enumerate(site.entries()):
        text = audit.prove(site.folder, site.public_key, n)
        proven = audit.check_proof(text, site.public_key)
        assert (proven.index, proven.entry, proven.checkpoint, proven.cosigned) == (n, entry, checkpoint, {})
    whole = list(audit.prove_entries(site.folder, site.public_key, 0, sum(sizes)))
    assert whole[-1] == text


def test_entries_of_two_segments_are_proved_in_one_pass(site: Site) -> None:
    site.commit(4000, 500)
    proofs = list(audit.prove_entries(site.folder, site.public_key, 4090, 4100))
    assert [audit.check_proof(proof, site.public_key).index for proof in proofs] == list(range(4090, 4100))


def test_the_file_is_that_of_tlog_proof(site: Site) -> None:
    site.commit(5)
    head, note = audit.prove(site.folder, site.public_key, 4).split("\n\n", 1)
    header, extra, index, *hashes = head.split("\n")
    assert header == "c2sp.org/tlog-proof@v1"
    assert (
        b64decode(extra.removeprefix("extra "))
        == (site.folder / "entries/000000000000.jsonl").read_bytes().split(b"\n")[4]
    )
    assert index == "index 4"
    assert [len(b64decode(hash)) for hash in hashes] == [32]
    assert note.encode() == (site.folder / "checkpoint").read_bytes()


def test_an_earlier_checkpoint_proves_too(site: Site) -> None:
    kept = {}
    for size in (1, 3, 256, 40):
        site.commit(size)
        note = (site.folder / "checkpoint").read_bytes()
        kept[audit.read_checkpoint(site.folder, site.public_key).size] = note
    for size, note in kept.items():
        for n in {0, size // 2, size - 1}:
            text = audit.prove(site.folder, site.public_key, n, note)
            assert audit.check_proof(text, site.public_key).checkpoint.size == size
        with pytest.raises(LookupError, match=f"covers {size} entries"):
            audit.prove(site.folder, site.public_key, size, note)


def test_another_history_is_not_proved_under_a_kept_checkpoint(site: Site, make_other: Site) -> None:
    site.commit(4)
    make_other.commit(3)
    with pytest.raises(audit.ProofRefused, match="the given checkpoint: fork: it signs the root"):
        audit.prove(site.folder, site.public_key, 0, (make_other.folder / "checkpoint").read_bytes())
    with pytest.raises(audit.ProofRefused, match="the given checkpoint: roll-back: it signs 4 entries, the log has 3"):
        audit.prove(make_other.folder, site.public_key, 0, (site.folder / "checkpoint").read_bytes())
    with pytest.raises(audit.ProofRefused, match="the given checkpoint: "):
        audit.prove(site.folder, site.public_key, 0, b"nothing")


@pytest.fixture
def make_other(tmp_path: Path, site: Site, make_site: object) -> Site:
    """Another log of the same key, with other entries."""
    assert callable(make_site)
    other: Site = make_site(tmp_path / "other")
    other.clock.commits = 1000
    return other


@pytest.mark.parametrize("n", [-1, 3, 10**12])
def test_what_is_not_there_is_not_proved(site: Site, n: int) -> None:
    site.commit(3)
    with pytest.raises(LookupError, match="the checkpoint covers 3 entries"):
        audit.prove(site.folder, site.public_key, n)


def test_a_damaged_log_proves_nothing_wrong(site: Site) -> None:
    site.commit(3)
    segment = site.folder / "entries/000000000000.jsonl"
    lines = segment.read_bytes()
    segment.write_bytes(lines.replace("döc 1".encode(), "döc 9".encode()))
    assert audit.prove(site.folder, site.public_key, 0)
    with pytest.raises(audit.LogUntrusted, match=r"entry 1 .* the proof gives the root"):
        audit.prove(site.folder, site.public_key, 1)
    segment.write_bytes(b"".join(lines.splitlines(keepends=True)[:2]))
    with pytest.raises(audit.LogUntrusted, match=r"entry 2 .* missing"):
        audit.prove(site.folder, site.public_key, 2)
    (site.folder / "tile/0/000.p/3").write_bytes(b"")
    with pytest.raises(audit.LogUntrusted, match="0 bytes, expected 96"):
        audit.prove(site.folder, site.public_key, 0)


def test_every_changed_byte_of_a_proof_is_noticed(site: Site) -> None:
    site.commit(7)
    data = audit.prove(site.folder, site.public_key, 5).encode()
    for at in range(len(data)):
        for changed in (data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :], data[:at], data[:at] + data[at + 1 :],
                        data[:at] + b"\n" + data[at:]):  # fmt: skip
            if changed != data:
                with pytest.raises(audit.ProofRefused, match="the proof does not hold: "):
                    audit.check_proof(changed.decode(errors="surrogateescape"), site.public_key)


def test_a_proof_of_another_key_or_entry_is_refused(site: Site, tmp_path: Path) -> None:
    site.commit(3)
    text = audit.prove(site.folder, site.public_key, 1)
    stranger = audit.generate_key(tmp_path / "other.key", "example.org/cloister")
    with pytest.raises(audit.ProofRefused, match="not signed by"):
        audit.check_proof(text, stranger)
    with pytest.raises(audit.KeyRefused):
        audit.check_proof(text, "nonsense")
    proof = parse_proof(text)
    other = format_proof(ProofFile(0, proof.data, proof.hashes, proof.note))
    with pytest.raises(audit.ProofRefused, match="the proof gives the root"):
        audit.check_proof(other, site.public_key)


@pytest.mark.parametrize(
    "text", ["", "\n\n", "c2sp.org/tlog-proof@v1\n\n", "c2sp.org/tlog-proof@v1\nindex 0\n\nx", "\ud800", "é\n" * 9]
)
def test_other_texts_are_no_proofs(site: Site, text: str) -> None:
    with pytest.raises(audit.ProofRefused, match="the proof does not hold: "):
        audit.check_proof(text, site.public_key)


def test_huge_numbers_and_texts_are_refused_at_once(site: Site) -> None:
    site.commit(1)
    text = audit.prove(site.folder, site.public_key, 0)
    for wrong in ("index " + "9" * 5000, "index 1" + "0" * 14, "index 00", "index -1", "index ٣"):
        with pytest.raises(audit.ProofRefused, match="the proof does not hold: "):
            audit.check_proof(text.replace("index 0", wrong), site.public_key)
    many = b64encode(bytes(32)).decode() + "\n"
    with pytest.raises(audit.ProofRefused, match="too long"):
        audit.check_proof(text.replace("index 0\n", "index 0\n" + many * 10_000), site.public_key)


def test_a_log_that_grows_meanwhile_is_proved(site: Site) -> None:
    """The tiles of an earlier edge are gone once the next commit is there: a reader begins again."""
    site.commit(3)
    with site.open() as log:
        for _ in range(20):
            log.commit(site.records(1))
            assert audit.check_proof(audit.prove(site.folder, site.public_key, 2), site.public_key).index == 2


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{origin}\n1\n{root}\n", "not a checkpoint of ours"),
        ("{origin}\n1\n{root}\nsegment-bytes 7\nmore\n", "not a checkpoint of ours"),
        ("{origin}\n-1\n{root}\nsegment-bytes 7\n", "not a checkpoint of ours"),
        ("{origin}\n1\n\nsegment-bytes 7\n", "not a checkpoint of ours"),
        ("{origin}\n1\n{odd}\nsegment-bytes 7\n", "not in its one form"),
    ],
)
def test_the_proof_of_another_programs_log_is_refused_in_words(site: Site, body: str, said: str) -> None:
    """A tlog-proof under a checkpoint without our extension line, or under none, though the key signed it."""
    site.commit(1)
    root, odd = b64encode(bytes(32)).decode(), b64encode(bytes(32)).decode()[:-2] + "B="
    signer = open_signer(site.key_path)
    note = signer.sign(body.format(origin=signer.public.origin, root=root, odd=odd)).decode()
    proof = f"c2sp.org/tlog-proof@v1\nextra e30=\nindex 0\n\n{note}"
    with pytest.raises(audit.ProofRefused, match=said):
        audit.check_proof(proof, site.public_key)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("index 0", "expected the lines"), ("extra e30=\nindex x", "expected the lines"), ("", "expected the lines"),
        ("extra e30\nindex 0", "no base64"), ("extra e30=\nindex 0\nx", "no base64"),
    ],
)  # fmt: skip
def test_what_other_programs_write_is_refused_in_words(site: Site, head: str, said: str) -> None:
    site.commit(1)
    note = (site.folder / "checkpoint").read_text()
    with pytest.raises(audit.ProofRefused, match=said):
        audit.check_proof(f"c2sp.org/tlog-proof@v1\n{head}\n\n{note}", site.public_key)
