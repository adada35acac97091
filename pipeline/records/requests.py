"""state/review/: decisions of people on rows, each a signed file ID.json, for whoever holds the log.

Whoever may write there can put anything there, so a request counts only with the signature of the key that the log
admitted last (`reviewer_key.admitted`), and only once: its id stands in the entry that it made. The answer is signed by
its sha256, so that the log alone proves who decided what, also where it may not say the answer.
"""

import contextlib
import hashlib
import os
import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import audit
from pipeline.plan import Site
from pipeline.records.drop import REFUSED, Drop, LeftFile
from pipeline.records.types import ACTIONS, Document, Reviewed

PURPOSE = "review"
WHY = ".why"
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


def make_key(site: Site) -> None:
    """Make the key, if it is not there: whole, or not at all, and one alone, whoever does so at the same moment.
    audit.KeyRefused, OSError."""
    file = key_file(site)
    if file.exists():
        return
    file.parent.mkdir(mode=0o700, exist_ok=True)
    new = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        audit.generate_key(new, f"{site.origin}/review")
        with contextlib.suppress(FileExistsError):
            os.link(new, file)
    finally:
        new.unlink(missing_ok=True)
    audit.sync_folder(file.parent)


def new_id() -> str:
    """An id that no other request has."""
    return secrets.token_hex(16)


def drop_of(site: Site) -> Drop[Request]:
    """The folder where requests wait, and where those that were refused are kept."""
    return Drop(site, "review", _MAX_BYTES, _parse_named, private=True)


def folder_of(site: Site) -> Path:
    """Where requests wait."""
    return drop_of(site).path


def leave(site: Site, request: Request) -> None:
    """Leave a request for whoever holds the log, on the disk when this returns. OSError; ValueError for a long one."""
    body = format_request(request)
    if len(body) > _MAX_BYTES:
        raise ValueError(f"a decision of {len(body):,} bytes; at most {_MAX_BYTES:,} can be left for a run")
    drop_of(site).leave(f"{request.id}.json", body)


def format_request(request: Request) -> bytes:
    """The bytes of its file."""
    said = {name: getattr(request, name) for name in Request.__dataclass_fields__}
    return audit.canonical({"v": _VERSION, **said})


def parse_request(data: bytes) -> Request:
    """Read what `format_request` gives; whether it is signed is not asked. ValueError."""
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
    by = request.by
    if not isinstance(by, str) or not by.strip() or not by.isprintable() or len(by) > MOST_NAME:
        raise ValueError(f"who decides has a name of 1 to {MOST_NAME} printable characters")
    if request.reason is not None and not _is_reason(request.reason):
        raise ValueError(f"a reason is a text of 1 to {MOST_REASON:,} characters, or there is none")
    if request.answer is not None and not isinstance(request.answer, Mapping):
        raise ValueError("an answer says by name what is to be changed")


def _is_reason(reason: Any) -> bool:
    return isinstance(reason, str) and bool(reason.strip()) and len(reason) <= MOST_REASON


def waiting(site: Site) -> list[str]:
    """The names of the files that wait, sorted."""
    return drop_of(site).names()


def refused(site: Site) -> list[str]:
    """The names of the files that were refused, sorted."""
    return drop_of(site).names(REFUSED)


def _parse_named(name: str, left: LeftFile) -> Request:
    request = parse_request(left.whole())
    if not _NAME.fullmatch(name) or f"{request.id}.json" != name:
        raise ValueError("its name is not that of the request in it")
    return request


def remove(site: Site, ids: Iterable[str]) -> None:
    """Remove the files of requests that are in the log; may be repeated."""
    drop_of(site).remove(f"{each}.json" for each in ids)


def forget_requests(site: Site, entries: Collection[int]) -> None:
    """Remove what waits, or was refused, of rows of these entries: it says what is in their documents."""
    drop = drop_of(site)
    for name in (*waiting(site), *refused(site)):
        try:
            of = parse_request(drop.read(name).whole()).of
        except (OSError, ValueError):
            continue
        if of in entries:
            drop.remove([name, f"{Path(name).stem}{WHY}"])


def ids_of(documents: Iterable[Document]) -> list[str]:
    """The ids of the requests by which people decided these rows."""
    return [entry.review.id for entry in documents if entry.review is not None]
