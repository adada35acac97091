"""Where the bytes of documents still lie when their rows are long made: in the archive, or among the failed ones."""

from collections.abc import Iterator
from pathlib import Path

from pipeline.atrest.errors import NoKeyError
from pipeline.atrest.files import AtRest
from pipeline.inbox.intake import COPY, INSIDE, Kept, staging_of
from pipeline.outbox.placement import archive_folder
from pipeline.paths.names import failed_apart, failed_name
from pipeline.records.types import Document


class BytesGoneError(Exception):
    """Nothing has the bytes of a document any more; the message says what lies in their place."""


def kept(root: Path, at_rest: AtRest, entry: Document) -> Kept:
    """The document of an entry as it was taken in. BytesGoneError."""
    waiting = staging_of(root / "archive" / entry.job, str(entry.n)) / COPY
    file = _find(root, at_rest, entry.job, str(entry.document), entry.raw_path, waiting)
    read = (entry.path, entry.raw_path, entry.size, entry.document, entry.parent)
    return Kept(*read, earlier=entry.earlier, file=file)


def kept_container(root: Path, at_rest: AtRest, entry: Document) -> Kept:
    """The container of an entry's document. BytesGoneError."""
    path, raw = (name.rpartition(INSIDE)[0] for name in (entry.path, entry.raw_path))
    file = _find(root, at_rest, entry.job, str(entry.parent), raw)
    return Kept(path, raw, at_rest.size(file), entry.parent, file=file)


def _find(root: Path, at_rest: AtRest, job: str, sha256: str, raw: str, *waiting: Path) -> Path:
    """`waiting`: where it lies if its part is committed and not yet in place."""
    other = []
    for path in (*_places(root, job, sha256, raw), *waiting):
        if path.is_file() and not path.is_symlink():
            if _holds(path, at_rest, job, sha256):
                return path
            other.append(path)
    if other:
        raise BytesGoneError(f"{other[0].relative_to(root)} has other bytes than those that were processed")
    raise BytesGoneError(f"its bytes are not in archive/{job}/ or failed/{job}/ any more")


def _holds(path: Path, at_rest: AtRest, job: str, document: str) -> bool:
    try:
        return at_rest.holds(path, job, document, document)
    except NoKeyError as error:
        raise BytesGoneError(error.strerror) from error


def _places(root: Path, job: str, sha256: str, raw: str) -> Iterator[Path]:
    yield from sorted(archive_folder(root, job, sha256).glob("bytes/*"))
    for name in (failed_name(raw), failed_apart(raw, sha256)):
        yield root / "failed" / job / name
