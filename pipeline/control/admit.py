"""A person admits a model or head, or revokes it: by the bytes of its file, in the log."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import engine
from pipeline.answer.models import check_machine, inspect_model
from pipeline.control.files import HEAD, Contents, find_file
from pipeline.control.golden import BUILT_IN, Answered, Golden, Progress, ask, check_count, keep_golden, kept_golden
from pipeline.errors import ModelRefusedError
from pipeline.heads import read_head
from pipeline.outbox.recover import recovered_log
from pipeline.plan import Site
from pipeline.records.entries import fold, read_entries
from pipeline.records.register import read_admissions
from pipeline.records.types import AdmissionGranted, AdmissionRevoked, AdmissionVerified, Record

_LICENCE: Final = ("general.license.name", "general.license")
_ORIGIN: Final = (
    *("general.source.url", "general.source.repo_url", "general.source.huggingface.repository"),
    *("general.url", "general.repo_url", "general.organization", "general.base_model.0.repo_url"),
)
_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


class NotStatedError(Exception):
    """The licence or the origin, which neither the file nor the person states; `what` is which."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the file does not state its {what}")
        self.what = what


@dataclass(frozen=True)
class Note:
    """A person's statement on a file: who admits it, under which licence it is, where it comes from (None: as the file
    states). `again`: it is admitted although it was revoked."""

    by: str
    licence: str | None = None
    origin: str | None = None
    again: bool = False


@dataclass(frozen=True)
class Admitted:
    """An admission: the number of its entry, and what that says. `texts`: how many golden texts were asked;
    `unasked`: why none were."""

    number: int
    file: str
    sha256: str
    by: str
    licence: str
    origin: str
    texts: int
    answers_sha256: str | None
    unasked: str


@dataclass(frozen=True)
class Revoked:
    """A revocation: the number of its entry, and what that says."""

    number: int
    file: str
    sha256: str
    by: str
    reason: str


def admit(
    site: Site, name: str, note: Note, texts: Sequence[str] | None, progress: Progress, *, wait: float = 0
) -> Admitted:
    """Admit the bytes of a model or head after its file was read strictly and asked the golden texts (None: those that
    are built in). Raises ModelRefusedError, NotStatedError, MachineRefusedError, OSError, and audit.AuditError (of them
    LogHeld after `wait` seconds)."""
    check_machine()
    path, contents = find_file(site.models, name), Contents(site.models)
    stated = _stated_by_head(path) if path.suffix == HEAD else _stated_by_model(path)
    licence, origin = (_said(what, getattr(note, what), stated.get(what)) for what in ("licence", "origin"))
    sha256, golden = contents.sha256(path), Golden(tuple(texts or BUILT_IN))
    check_count(golden.texts)
    _check_revoked(site, path.name, sha256, note)
    answered = ask(contents, path, sha256, golden.texts, progress)
    with recovered_log(site, wait) as log:
        _check_revoked(site, path.name, sha256, note)
        keep_golden(site, golden)
        record = _granted(path.name, sha256, note.by, licence, origin, golden, answered)
        number = log.commit([record])
    assert number is not None
    asked = 0 if answered.answers_sha256 is None else len(golden.texts)
    return Admitted(
        number,
        path.name,
        sha256,
        note.by,
        licence=licence,
        origin=origin,
        texts=asked,
        answers_sha256=answered.answers_sha256,
        unasked=answered.why,
    )


def _granted(
    file: str, sha256: str, by: str, licence: str, origin: str, golden: Golden, answered: Answered
) -> AdmissionGranted:
    asked = answered.answers_sha256 is not None
    return AdmissionGranted(
        file=file,
        sha256=sha256,
        by=by,
        licence=licence,
        origin=origin,
        golden_sha256=golden.sha256 if asked else None,
        answers_sha256=answered.answers_sha256,
        numerics=engine.NUMERICS if asked else None,
    )


def _check_revoked(site: Site, file: str, sha256: str, note: Note) -> None:
    told = None if note.again else read_admissions(site).refusal(file, sha256, required=False)
    if told is not None:
        raise ModelRefusedError(told)


def _stated_by_model(path: Path) -> Mapping[str, str]:
    """The licence and the origin that a model's file states, after all of it was read by the strict reader."""
    metadata = inspect_model(path)["metadata"]
    return {"licence": _first(metadata, _LICENCE), "origin": _first(metadata, _ORIGIN)}


def _stated_by_head(path: Path) -> Mapping[str, str]:
    facts = read_head(path).facts
    learned = (
        f"learned for the job {facts.get('job')} from {facts.get('examples')} examples (sha256 "
        f"{facts.get('examples_sha256')}) on the model {facts.get('model_name')} (sha256 {facts.get('model_sha256')})"
    )
    return {"licence": _first(facts, ("licence", "license")) or "as its examples", "origin": learned}


def _first(facts: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first of these facts that is a text and says something."""
    said = (facts.get(name) for name in names)
    return next((one.strip() for one in said if isinstance(one, str) and one.strip()), "")


def _said(what: str, by_person: str | None, by_file: str | None) -> str:
    """Return what a person or the file says, both where they differ. Raises NotStatedError if neither says it."""
    if by_person and by_file and by_person != by_file:
        return f"{by_person} (its file states: {by_file})"
    if not (said := by_person or by_file):
        raise NotStatedError(what)
    return said


def revoke(site: Site, name: str, by: str, reason: str, *, wait: float = 0) -> Revoked:
    """Revoke the bytes of a model or head, by its name or by the sha256 of a file that may be gone: from then on no
    run uses them. Raises ModelRefusedError, OSError, and audit.AuditError (of them LogHeld after `wait` seconds)."""
    gone = _SHA256.fullmatch(name) is not None
    path = None if gone else find_file(site.models, name)
    sha256 = Contents(site.models).sha256(path) if path else name
    with recovered_log(site, wait) as log:
        file = path.name if path else _name_of(site, sha256)
        number = log.commit([AdmissionRevoked(file=file, sha256=sha256, by=by, reason=reason)])
    assert number is not None
    return Revoked(number, file, sha256, by, reason)


def _name_of(site: Site, sha256: str) -> str:
    """The name under which a file was decided about before; "" if it never was."""
    decision = read_admissions(site).last.get(sha256)
    return decision.file if decision else ""


SAME, OTHER, GONE = "same", "other", "gone"
DIFFERENT, INCOMPARABLE, NONE = "different", "incomparable", "none"


@dataclass
class Granted:
    """The admissions in force, by the sha256 that they are of."""

    entries: dict[str, AdmissionGranted] = field(default_factory=dict)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        match entry:
            case AdmissionGranted():
                self.entries[entry.sha256] = entry
            case AdmissionRevoked():
                self.entries.pop(entry.sha256, None)


@dataclass(frozen=True)
class Checked:
    """The result of checking one admission. `bytes`: "same", "other" (another file has its name) or "gone"; `answers`:
    "same", "different", "incomparable" or "none"; `told`: what a person should know of it."""

    file: str
    sha256: str
    bytes: str
    answers: str
    told: str

    @property
    def wrong(self) -> bool:
        """Whether the file is not what was admitted. One that is gone harms nobody: no run can use it."""
        return self.bytes == OTHER or self.answers == DIFFERENT

    def to_record(self) -> AdmissionVerified:
        """The record of it for the log."""
        return AdmissionVerified(file=self.file, sha256=self.sha256, bytes=self.bytes, answers=self.answers)


def verify_models(site: Site, name: str | None, progress: Progress) -> Iterator[Checked]:
    """Yield what is found of each admission in force, or of the one file `name`. Raises ModelRefusedError for a file
    that was never admitted, MachineRefusedError, OSError and audit.AuditError."""
    check_machine()
    granted, contents = fold(read_entries(site), Granted()).entries, Contents(site.models)
    for entry in _wanted(site, name, granted, contents):
        yield _checked(site, entry, contents, progress)


def _wanted(
    site: Site, name: str | None, granted: dict[str, AdmissionGranted], contents: Contents
) -> list[AdmissionGranted]:
    if name is None:
        return sorted(granted.values(), key=lambda entry: entry.n)
    path = find_file(site.models, name)
    if entry := granted.get(contents.sha256(path)):
        return [entry]
    named = [entry for entry in granted.values() if entry.file == path.name]
    if not named:
        raise ModelRefusedError(
            f"{path} (sha256 {contents.sha256(path)}) is not admitted; `cloister model admit {path.name}` admits it"
        )
    return named[-1:]


def _checked(site: Site, entry: AdmissionGranted, contents: Contents, progress: Progress) -> Checked:
    path = contents.find(entry.sha256, entry.file)
    if path is None:
        there = site.models / entry.file
        if there.is_file():
            told = f"models/{entry.file} has sha256 {contents.sha256(there)} now"
            return Checked(entry.file, entry.sha256, OTHER, NONE, told)
        return Checked(entry.file, entry.sha256, GONE, NONE, "no file in models/ has these bytes")
    answers, told = _answers(site, entry, contents, path, progress)
    elsewhere = "" if path.name == entry.file else f"it is models/{path.name} now"
    told = "; ".join(part for part in (elsewhere, told) if part)
    return Checked(entry.file, entry.sha256, SAME, answers, told)


def _answers(
    site: Site, entry: AdmissionGranted, contents: Contents, path: Path, progress: Progress
) -> tuple[str, str]:
    """Ask for the golden answers again; returns how they compare, and what a person is told of it."""
    if entry.golden_sha256 is None:
        return NONE, "it was asked nothing when it was admitted"
    if entry.numerics != engine.NUMERICS:
        return (
            INCOMPARABLE,
            f"it was asked with the arithmetic {entry.numerics}, this is {engine.NUMERICS}; admit again",
        )
    if (golden := kept_golden(site, entry.golden_sha256)) is None:
        return INCOMPARABLE, f"the golden texts models/golden/{entry.golden_sha256}.json are gone or changed"
    try:
        found = ask(contents, path, entry.sha256, golden.texts, progress).answers_sha256
    except ModelRefusedError as error:
        return INCOMPARABLE, str(error)
    return (SAME, "") if found == entry.answers_sha256 else (DIFFERENT, "it does not answer as it did")
