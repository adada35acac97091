"""A checkpoint that was kept elsewhere, held against today's log: the only thing that shows a roll-back of the whole
folder, and another history by whoever has the key.

    today has fewer entries                              roll-back
    today's first entries have another root              fork
    the same entries, signed with other segment-bytes    fork
    signed by a key that had handed over before          fork
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.checkpoint import Checkpoint
from audit.cosign import Cosigned, check_witnesses, parse_cosigned
from audit.errors import LogUntrusted
from audit.report import Finding
from audit.roots import StoredTree
from audit.rotation import rotations
from audit.sign import PublicKey, format_public_key, parse_public_key

KEPT = "kept checkpoint"


@dataclass(frozen=True)
class LogKey:
    """A key that signs, or signed, a log: checkpoints of at most `limit` entries, None for the present one."""

    key: PublicKey
    limit: int | None = None


def signers_of(folder: Path, key: PublicKey, kept: bytes) -> list[LogKey]:
    """The keys by which `kept` may be signed: the present one, and those before it, the latest first, if it is not by
    the present one (they are looked for in the whole log)."""
    try:
        parse_cosigned(kept, key)
        return [LogKey(key)]
    except ValueError:
        pass
    try:
        earlier = rotations(folder, format_public_key(key))
    except LogUntrusted:
        earlier = []
    return [LogKey(key), *(LogKey(parse_public_key(each.old_key), each.n) for each in reversed(earlier))]


def parse_kept(data: bytes, keys: Iterable[PublicKey]) -> Cosigned:
    """The checkpoint in a kept file, signed by one of a log's keys; ValueError tells what the first says of it."""
    refusals = []
    for key in keys:
        try:
            return parse_cosigned(data, key)
        except ValueError as error:
            refusals.append(error)
    raise refusals[0]


def judge_kept(
    data: bytes, signers: Sequence[LogKey], today: Checkpoint, tree: StoredTree, witnesses: Iterable[str] = ()
) -> Finding | None:
    """The finding on how the kept file `data` and the log disagree; None if the log extends it, and each of `witnesses`
    has cosigned it. The tiles have to be right: `verify` checks them. KeyRefused if a witness's key is none."""
    try:
        kept = parse_kept(data, (signer.key for signer in signers))
        check_witnesses(kept, witnesses)
    except ValueError as error:
        return Finding(KEPT, f"nothing can be held against it: {error}", beside=True)
    try:
        limit = next(signer.limit for signer in signers if signer.key == kept.key)
        fact = _difference(kept.checkpoint, today, tree, limit)
    except LogUntrusted as error:
        fact = f"cannot be held against the log: {error.where}: {error.message}"
    return Finding(KEPT, fact) if fact else None


def judge_unheld(data: bytes, key: PublicKey) -> Finding:
    """The finding on a kept file for a log whose checkpoint is missing or not signed by `key`, as one has that was put
    back to before another key handed over to it."""
    try:
        size = parse_cosigned(data, key).checkpoint.size
    except ValueError as error:
        return Finding(KEPT, f"nothing can be held against it: {error}")
    return Finding(KEPT, f"roll-back or fork: it has {size} entries under the trusted key, the log has none")


def _difference(kept: Checkpoint, today: Checkpoint, tree: StoredTree, limit: int | None) -> str | None:
    if kept.size > today.size:
        gone = "what was signed has been taken away"
        return f"roll-back: it signs {kept.size} entries, the log has {today.size}: {gone}"
    if (root := tree.root(0, kept.size)) != kept.root:
        fact = f"it signs the root {kept.root.hex()} over the first {kept.size} entries, the log has {root.hex()}"
        return f"fork: {fact}: another history was signed"
    if kept.size == today.size and kept != today:
        return f"fork: it signs {kept.segment_bytes} bytes of the same entries, the log {today.segment_bytes}"
    if limit is not None and kept.size > limit:
        return f"fork: it signs {kept.size} entries with a key that handed over to another at entry {limit}"
    return None
