"""The checkpoint: what the log's key signed last. The body of https://c2sp.org/tlog-checkpoint and one extension line:

    example.org/cloister                              origin
    342                                               entries
    CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=      root of the RFC 6962 tree over them
    segment-bytes 512044                              the bytes of their lines in all segments together

The extension lets a start see that the segments have their sizes without reading them.
"""

import re
from base64 import b64decode, b64encode
from dataclasses import dataclass

from audit.merkle import HASH
from audit.sign import PublicKey, Signer, open_note

MAX_BYTES = 4096
_BYTES = "segment-bytes "
_NUMBER = "(0|[1-9][0-9]{0,18})"
_FORM = re.compile(f"([^\n]+)\n{_NUMBER}\n([+/0-9A-Za-z]{{43}}=)\n{_BYTES}{_NUMBER}\n")


@dataclass(frozen=True)
class Checkpoint:
    origin: str
    size: int
    root: bytes
    segment_bytes: int


def format_body(checkpoint: Checkpoint) -> str:
    root = b64encode(checkpoint.root).decode()
    return f"{checkpoint.origin}\n{checkpoint.size}\n{root}\n{_BYTES}{checkpoint.segment_bytes}\n"


def parse_body(text: str) -> Checkpoint:
    """The strict inverse of format_body: ValueError for every other text."""
    if (found := _FORM.fullmatch(text)) is None:
        raise ValueError("not a checkpoint of ours, whose lines are the origin, size, root and segment-bytes")
    origin, size, root, segment_bytes = found.groups()
    checkpoint = Checkpoint(origin, int(size), b64decode(root), int(segment_bytes))
    if format_body(checkpoint) != text or len(checkpoint.root) != HASH:
        raise ValueError("the root of the checkpoint is not in its one form")
    return checkpoint


def format_checkpoint(checkpoint: Checkpoint, signer: Signer) -> bytes:
    return signer.sign(format_body(checkpoint))


def parse_checkpoint(note: bytes, key: PublicKey) -> Checkpoint:
    """ValueError unless `note` is a checkpoint that `key` signed for the log which it names."""
    checkpoint = parse_body(open_note(note, key))
    if checkpoint.origin != key.origin:
        raise ValueError(f"of the log {checkpoint.origin!r}, expected {key.origin!r}")
    return checkpoint
