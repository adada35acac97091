"""One entry as a file that proves itself: https://c2sp.org/tlog-proof, with the entry as its extra data.

    c2sp.org/tlog-proof@v1
    extra eyJib290Ijoi...                               the entry's bytes, without newline
    index 1                                             its number
    yIqCCKWSX0p+9pao2Gu/+v+uq8Tmv....                   the hashes of the inclusion proof, lowest first
                                                        an empty line
    example.org/cloister                                the checkpoint as it was signed, perhaps cosigned
    ...

With the log's public key nothing else is needed to check it. Stricter than there: one form only, and the extra data is
the entry, which its hash binds to the tree.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from audit.checkpoint import Checkpoint
from audit.cosign import check_witnesses, parse_cosigned, parse_witness_key
from audit.durable import StrPath
from audit.entry import Entry, parse_entry
from audit.errors import LogUntrusted, ProofRefused
from audit.kept import LogKey, judge_kept, parse_kept, signers_of
from audit.merkle import leaf_hash
from audit.proof import check_inclusion, prove_inclusion
from audit.roots import StoredTree, open_tree
from audit.sign import parse_public_key
from audit.store import CHECKPOINT, locate, read_lines, segments_of

HEADER = "c2sp.org/tlog-proof@v1"


@dataclass(frozen=True)
class ProofFile:
    """A proof as its file says it: entry `index` is `data`, and `hashes` lead from it to the root that `note` signs."""

    index: int
    data: bytes
    hashes: tuple[bytes, ...]
    note: bytes


@dataclass(frozen=True)
class Proven:
    """The facts that a proof shows: `entry` has number `index` in the log that `checkpoint` signs; `cosigned` has the
    seconds since 1970 at which each witness that was asked for cosigned it."""

    index: int
    entry: Entry
    data: bytes
    checkpoint: Checkpoint
    cosigned: Mapping[str, int]


def prove(folder: StrPath, public_key: str, n: int, checkpoint: bytes | None = None) -> str:
    """The proof of entry n under the present checkpoint, or under an earlier one (perhaps cosigned) that is given.

    LookupError if there is no such entry; ProofRefused if the log does not extend the given checkpoint; LogUntrusted if
    entry or tiles are not what was signed.
    """
    (proof,) = prove_entries(folder, public_key, n, n + 1, checkpoint)
    return proof


def prove_entries(
    folder: StrPath, public_key: str, start: int, end: int, checkpoint: bytes | None = None
) -> Iterator[str]:
    """Yield a proof of each of the entries `start` to `end` - 1, all under one checkpoint."""
    folder, key = Path(folder), parse_public_key(public_key)
    today, note, tree = open_tree(folder, key)
    under = today if checkpoint is None else _earlier(checkpoint, signers_of(folder, key, checkpoint), today, tree)
    if not 0 <= start < end <= under.size:
        raise LookupError(f"no entry {end - 1 if start >= 0 else start}: the checkpoint covers {under.size} entries")
    shown = note if checkpoint is None else checkpoint
    lines = read_lines(folder, dict.fromkeys(segments_of(under.size), 1 << 62), start)
    for n in range(start, end):
        line = next(lines, None)
        if line is None or line.n != n:
            raise LogUntrusted(locate(n), "missing, though the checkpoint covers it")
        proof = ProofFile(n, line.data, tuple(prove_inclusion(n, under.size, tree.root)), shown)
        _check_own(proof, under)
        yield format_proof(proof)


def root_of(folder: StrPath, public_key: str, size: int) -> bytes:
    """The root over the first `size` entries, by the tiles. LookupError if there are fewer; LogUntrusted if the
    tiles are not what was signed."""
    today, _, tree = open_tree(Path(folder), parse_public_key(public_key))
    if not 0 <= size <= today.size:
        raise LookupError(f"the checkpoint covers {today.size} entries, not {size}")
    if tree.root(0, today.size) != today.root:
        raise LogUntrusted(CHECKPOINT, "signs another root than the tiles have")
    return tree.root(0, size)


def check_proof(text: str, public_key: str, witnesses: Iterable[str] = ()) -> Proven:
    """Check a proof against this log's key: the facts that it shows, and that each of `witnesses` cosigned its
    checkpoint. ProofRefused says why it shows nothing; KeyRefused if a key is none."""
    key, witnesses = parse_public_key(public_key), list(witnesses)
    for witness in witnesses:
        parse_witness_key(witness)
    try:
        proof = parse_proof(text)
        cosigned = parse_cosigned(proof.note, key)
        under = cosigned.checkpoint
        check_inclusion(proof.index, under.size, leaf_hash(proof.data), proof.hashes, under.root)
        entry = parse_entry(proof.data, proof.index)
        return Proven(proof.index, entry, proof.data, under, check_witnesses(cosigned, witnesses))
    except ValueError as error:
        raise ProofRefused(f"the proof does not hold: {error}") from None


def format_proof(proof: ProofFile) -> str:
    hashes = [b64encode(hash).decode() for hash in proof.hashes]
    head = [HEADER, f"extra {b64encode(proof.data).decode()}", f"index {proof.index}", *hashes, "", ""]
    return "\n".join(head) + proof.note.decode()


def parse_proof(text: str) -> ProofFile:
    """The strict inverse of format_proof; ValueError for every other text."""
    head, _, note = text.partition("\n\n")
    header, extra, index, *hashes = [*head.split("\n"), "", ""]
    number = index.removeprefix("index ")
    if header != HEADER or not (number.isascii() and number.isdigit() and len(number) < 16):
        raise ValueError(f"expected the lines {HEADER!r}, 'extra …', 'index …', hashes, and a checkpoint")
    try:
        data, proved = b64decode(extra.removeprefix("extra ")), tuple(b64decode(hash) for hash in hashes[:-2])
    except ValueError as error:
        raise ValueError(f"the entry or a hash in it is no base64: {error}") from None
    proof = ProofFile(int(number), data, proved, note.encode())
    if format_proof(proof) != text:
        raise ValueError("not in the one form that a proof has")
    return proof


def _earlier(note: bytes, signers: list[LogKey], today: Checkpoint, tree: StoredTree) -> Checkpoint:
    if finding := judge_kept(note, signers, today, tree):
        raise ProofRefused(f"the given checkpoint: {finding.message}")
    return parse_kept(note, (signer.key for signer in signers)).checkpoint


def _check_own(proof: ProofFile, under: Checkpoint) -> None:
    """A proof that would not hold is never given out."""
    try:
        check_inclusion(proof.index, under.size, leaf_hash(proof.data), proof.hashes, under.root)
        parse_entry(proof.data, proof.index)
    except ValueError as error:
        raise LogUntrusted(locate(proof.index), str(error)) from None
