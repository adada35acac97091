"""Where the bytes of documents still lie when their rows are long made: in the archive, or among the failed ones."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.inbox.intake import COPY, INSIDE, Kept, staging_of
from pipeline.outbox.placement import archive_folder
from pipeline.paths.digest import file_sha256
from pipeline.paths.names import failed_apart, failed_name
from pipeline.records.types import Document


class BytesGoneError(Exception):
    """Nothing has the bytes of a document any more; the message says what lies in their place."""


def kept(root: Path, entry: Document) -> Kept:
    """The document of an entry as it was taken in. BytesGoneError."""
    waiting = staging_of(root / "archive" / entry.job, str(entry.n)) / COPY
    file = _find(root, entry.job, str(entry.document), entry.raw_path, waiting)
    return Kept(entry.path, entry.raw_path, entry.size, entry.document, entry.parent, file=file)


def kept_container(root: Path, entry: Document) -> Kept:
    """The container of an entry's document. BytesGoneError."""
    path, raw = (name.rpartition(INSIDE)[0] for name in (entry.path, entry.raw_path))
    file = _find(root, entry.job, str(entry.parent), raw)
    return Kept(path, raw, file.stat().st_size, entry.parent, file=file)


def _find(root: Path, job: str, sha256: str, raw: str, *waiting: Path) -> Path:
    """`waiting`: where it lies if its part is committed and not yet in place."""
    other = []
    for path in (*_places(root, job, sha256, raw), *waiting):
        if path.is_file() and not path.is_symlink():
            if file_sha256(path) == sha256:
                return path
            other.append(path)
    if other:
        raise BytesGoneError(f"{other[0].relative_to(root)} has other bytes than those that were processed")
    raise BytesGoneError(f"its bytes are not in archive/{job}/ or failed/{job}/ any more")


def _places(root: Path, job: str, sha256: str, raw: str) -> Iterator[Path]:
    yield from sorted(archive_folder(root, job, sha256).glob("bytes/*"))
    for name in (failed_name(raw), failed_apart(raw, sha256)):
        yield root / "failed" / job / name
