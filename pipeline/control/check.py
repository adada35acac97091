"""Admitted files are looked at again: are their bytes those that were admitted, and do they answer as they did?"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import engine
from pipeline.answer.models import check_machine
from pipeline.control.files import Contents, find_file
from pipeline.control.golden import Progress, ask, kept_golden
from pipeline.errors import ModelRefusedError
from pipeline.plan import Site
from pipeline.records.entries import fold, read_entries
from pipeline.records.types import AdmissionGranted, AdmissionRevoked, AdmissionVerified, Record

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
