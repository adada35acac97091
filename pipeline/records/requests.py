"""state/review/: decisions of people on rows, each a signed file ID.json, for whoever holds the log.

Whoever may write there can put anything there, so a request counts only with the signature of the key that the log
admitted last (`reviewer_key.admitted`), and only once: its id stands in the entry that it made. The answer is signed by
its sha256, so that the log alone proves who decided what, also where it may not say the answer.
"""

import contextlib
import hashlib
import os
import pwd
import re
import secrets
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import audit
from pipeline.paths.beneath import open_beneath
from pipeline.plan import Site
from pipeline.records.types import ACTIONS, Document, Reviewed

PURPOSE = "review"
REFUSED, WHY = ".refused", ".why"
MOST_NAME, MOST_REASON = 200, 4_096  # characters
_MAX_BYTES = 262_144
_NAME = re.compile(r"[0-9a-f]{32}\.json", re.ASCII)
_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z", re.ASCII)
_MEMBERS = frozenset({
    "v", "id", "job", "of", "seen", "action", "by", "reason", "answer", "at", "key", "signature",
})  # fmt: skip
_VERSION = 1


@dataclass(frozen=True)
class Request:
    """A decision as it was signed: `of` is the entry of the row that was seen, `seen` the sha256 of its result."""

    id: str
    job: str
    of: int
    seen: str
    action: str
    by: str
    reason: str | None
    answer: Mapping[str, Any] | None
    at: str
    key: str = ""
    signature: str = ""

    @property
    def answer_sha256(self) -> str | None:
        """The sha256 of the answer's canonical JSON."""
        return None if self.answer is None else hashlib.sha256(audit.canonical(self.answer)).hexdigest()

    def reviewed(self) -> Reviewed:
        """The member of the entry that the request makes."""
        said = (self.action, self.by, self.reason, self.of, self.seen, self.answer_sha256, self.at)
        return Reviewed(*said, self.id, self.key, self.signature)


def sign(site: Site, request: Request) -> Request:
    """The request with the signature of keys/review.key. audit.KeyRefused."""
    key = audit.key_id_of(audit.signing_key(key_file(site)))
    keyed = replace(request, key=key)
    signature = audit.sign_statement(key_file(site), PURPOSE, _signed(request.job, keyed.reviewed()))
    return replace(keyed, signature=signature)


def is_signed(public_key: str | None, job: str, review: Reviewed) -> bool:
    """Whether the key signed this decision on a row of the job."""
    if public_key is None or audit.key_id_of(public_key) != review.key:
        return False
    return audit.check_statement(public_key, PURPOSE, _signed(job, review), review.signature)


def _signed(job: str, review: Reviewed) -> bytes:
    """The bytes that are signed: everything that the entry says of the decision, and the job."""
    names = ("id", "of", "seen", "action", "by", "reason", "answer_sha256", "at", "key")
    return audit.canonical({"v": _VERSION, "job": job, **{name: getattr(review, name) for name in names}})


def key_file(site: Site) -> Path:
    """The private key that signs requests."""
    return site.root / "keys" / "review.key"


def new_id() -> str:
    """An id that no other request has."""
    return secrets.token_hex(16)


def folder_of(site: Site) -> Path:
    """Where requests wait."""
    return site.state / "review"


def leave(site: Site, request: Request) -> None:
    """Leave a request for whoever holds the log, on the disk when this returns. OSError; ValueError for a long one."""
    body = format_request(request)
    if len(body) > _MAX_BYTES:
        raise ValueError(f"a decision of {len(body):,} bytes; at most {_MAX_BYTES:,} can be left for a run")
    folder = folder_of(site)
    if not folder.is_dir():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        audit.sync_folder(folder.parent)
    with opened(site):  # is it no link?
        pass
    audit.write_file_atomically(folder / f"{request.id}.json", body, mode=0o600)


def format_request(request: Request) -> bytes:
    """The bytes of its file."""
    said = {name: getattr(request, name) for name in Request.__dataclass_fields__}
    return audit.canonical({"v": _VERSION, **said})


def parse_request(data: bytes) -> Request:
    """Read what `format_request` gives; whether it is signed is not asked. ValueError."""
    if len(data) > _MAX_BYTES:
        raise ValueError(f"longer than {_MAX_BYTES:,} bytes")
    told = audit.parse_canonical(data)
    if not isinstance(told, dict) or told.keys() != _MEMBERS or told.pop("v") != _VERSION:
        raise ValueError("not what a command writes")
    request = Request(**told)
    check_request(request)
    if not all(isinstance(text, str) and len(text) <= MOST_NAME for text in (request.key, request.signature)):
        raise ValueError("not what a command writes")
    return request


def check_request(request: Request) -> None:
    """ValueError unless each value is one that a request may have."""
    texts = {
        "id": (request.id, _ID), "the sha256 of the row": (request.seen, _SHA256), "the time": (request.at, _TIME)
    }  # fmt: skip
    for name, (value, form) in texts.items():
        if not isinstance(value, str) or not form.fullmatch(value):
            raise ValueError(f"{name} is not as it must be")
    if not isinstance(request.job, str) or not request.job or "/" in request.job or request.job.startswith("."):
        raise ValueError("the job has no name that a job can have")
    if type(request.of) is not int or not 0 <= request.of < 2**53:
        raise ValueError("the row that was seen is named by no number")
    if request.action not in ACTIONS:
        raise ValueError(f"a row is {', '.join(ACTIONS[:-1])} or {ACTIONS[-1]}, and not {request.action!r}")
    _check_person(request.by)
    if request.reason is not None and not _is_reason(request.reason):
        raise ValueError(f"a reason is a text of 1 to {MOST_REASON:,} characters, or there is none")
    if request.answer is not None and not isinstance(request.answer, Mapping):
        raise ValueError("an answer says by name what is to be changed")


def _check_person(by: Any) -> None:
    if not isinstance(by, str) or not by.strip() or not by.isprintable() or len(by) > MOST_NAME:
        raise ValueError(f"who decides has a name of 1 to {MOST_NAME} printable characters")


def _is_reason(reason: Any) -> bool:
    return isinstance(reason, str) and bool(reason.strip()) and len(reason) <= MOST_REASON


def waiting(site: Site) -> list[str]:
    """The names of the files that wait, sorted."""
    return _names(site, ".json")


def refused(site: Site) -> list[str]:
    """The names of the files that were refused, sorted."""
    return _names(site, REFUSED)


def _names(site: Site, suffix: str) -> list[str]:
    try:
        with opened(site) as folder, os.scandir(folder) as items:
            return sorted(item.name for item in items if Path(item.name).suffix == suffix)
    except OSError:
        return []


@contextlib.contextmanager
def opened(site: Site) -> Iterator[int]:
    """The folder's descriptor. OSError, also for a link: what lies elsewhere is neither read, removed nor renamed."""
    folder = os.open(folder_of(site), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def read_file(site: Site, name: str) -> tuple[bytes, str]:
    """The bytes of a file in the folder, and its owner. OSError; ValueError for what is no file."""
    with os.fdopen(open_beneath(site.state, f"review/{name}", os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        return file.read(_MAX_BYTES + 1), owner_name(status.st_uid)


def parse_named(name: str, data: bytes) -> Request:
    """Read the request in the file of this name. ValueError."""
    request = parse_request(data)
    if not _NAME.fullmatch(name) or f"{request.id}.json" != name:
        raise ValueError("its name is not that of the request in it")
    return request


def owner_name(uid: int) -> str:
    """The name of a user of the system."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def remove(site: Site, ids: Iterable[str]) -> None:
    """Remove the files of requests that are in the log; may be repeated."""
    with contextlib.suppress(OSError), opened(site) as folder:
        for each in ids:
            with contextlib.suppress(OSError):
                os.unlink(f"{each}.json", dir_fd=folder)


def forget_requests(site: Site, entries: Collection[int]) -> None:
    """Remove what waits, or was refused, of rows of these entries: it says what is in their documents."""
    for name in (*waiting(site), *refused(site)):
        try:
            of = parse_request(read_file(site, name)[0]).of
        except (OSError, ValueError):
            continue
        for gone in (name, f"{Path(name).stem}{WHY}") if of in entries else ():
            with contextlib.suppress(OSError), opened(site) as folder:
                os.unlink(gone, dir_fd=folder)


def ids_of(documents: Iterable[Document]) -> list[str]:
    """The ids of the requests by which people decided these rows."""
    return [entry.review.id for entry in documents if entry.review is not None]
