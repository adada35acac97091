"""A part as a file: a Parquet table, encrypted where the site says so (Parquet Modular Encryption, AES_GCM_V1).

Footer and all columns have one key, which no other part has: it lies wrapped in private/, under the name that the part
has while it is staged. So a part that is put in the place of another one does not open, and a clear one that is put in
the place of one that has a key is refused.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.parquet import encryption

from pipeline.atrest.errors import NoKeyError
from pipeline.atrest.files import AtRest
from pipeline.errors import BadPartError
from pipeline.outbox.placement import staged_name

_ENCRYPTED = b"PARE"
_STAGING = ".staging"


def key_name(part: Path) -> str:
    """The name of the key of a part, by where it lies or waits."""
    staged = part.name if part.parent.name == _STAGING else staged_name("/".join(part.parts[-3:]))
    return f"parts/{Path(staged).stem}"


def open_part(at_rest: AtRest, part: Path, **options: Any) -> pq.ParquetFile:
    """The table of a part. What pyarrow raises for a damaged one, BadPartError for a clear one that has a key; OSError,
    of them NoKeyError."""
    if not _is_encrypted(part):
        if at_rest.on and at_rest.store.has(key_name(part)):
            raise BadPartError(part, "it lies in the clear, and was written encrypted: its key is in private/")
        return pq.ParquetFile(part, **options)
    keys = _keys(at_rest, part)
    for key in keys[:0:-1]:  # it is written anew, or has just been: the newest key may be of the one that waits
        try:
            return _decrypted(part, key, options)
        except OSError as error:
            if error.errno is not None:
                raise
    return _decrypted(part, keys[0], options)


def write_table(at_rest: AtRest, path: Path, table: pa.Table) -> str:
    """Write a part into staging, at once and not by hundreds of small writes; its sha256. OSError, NoKeyError."""
    file = pa.BufferOutputStream()
    properties = None
    if at_rest.writes:
        properties = encryption.create_encryption_properties(at_rest.store.add(key_name(path)))
    pq.write_table(table, file, compression="zstd", encryption_properties=properties)
    body = file.getvalue()
    path.write_bytes(body)
    return hashlib.sha256(body).hexdigest()


def forget_part(at_rest: AtRest, part: Path) -> None:
    """Remove the key of a part that was deleted. OSError."""
    if at_rest.on:
        at_rest.store.remove(key_name(part))


def forget_older(at_rest: AtRest, part: Path) -> None:
    """Remove the keys of a part from before it was written anew: all of them, where that is in the clear. OSError."""
    if at_rest.on:
        name = key_name(part)
        at_rest.store.keep_last(name) if _is_encrypted(part) else at_rest.store.remove(name)


def _is_encrypted(part: Path) -> bool:
    with part.open("rb") as file:
        return file.read(len(_ENCRYPTED)) == _ENCRYPTED


def _decrypted(part: Path, key: bytes, options: dict[str, Any]) -> pq.ParquetFile:
    return pq.ParquetFile(part, decryption_properties=encryption.create_decryption_properties(key), **options)


def _keys(at_rest: AtRest, part: Path) -> Sequence[bytes]:
    if not at_rest.on:
        remedy = "name the key that it was encrypted with in site.yaml (encryption.key_file)"
        raise NoKeyError(part, f"it is encrypted, and site.yaml does not say with which key; {remedy}")
    try:
        return at_rest.store.keys(key_name(part))
    except FileNotFoundError as error:
        what = "it is encrypted, and its key is not in private/: it was erased, or private/ is not whole"
        raise NoKeyError(part, f"{what}; restore private/ from a backup") from error
