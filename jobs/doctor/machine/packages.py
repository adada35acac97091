"""The installed packages: each that is pinned is there, in its version, and its files are as they were installed."""

from __future__ import annotations

import base64
import csv
import hashlib
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from jobs.doctor.base import Figures, Finding, Needs, found_or, problem, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient
from jobs.doctor.pins import find_lock, normal, optional_packages, parse_lock

NEEDS = Needs.MACHINE
FIGURES: Figures = {"packages": same}
_LISTED = 5
_AGAIN = "install the pinned packages again: make install, or the bundle of this version"


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell what is missing, of another version, or changed."""
    lock = find_lock()
    if lock is None:
        sentence = "There is no list of pinned packages, so what is installed cannot be held against what was tested."
        yield warning(sentence, "put requirements.lock of this version beside its code, or install the bundle")
        return
    yield from _judged(parse_lock(lock.read_text(encoding="utf-8")), _installed())


def _judged(pins: Mapping[str, str], installed: Mapping[str, metadata.Distribution]) -> Iterator[Finding]:
    there = {name: installed[name] for name in pins if name in installed}
    missing = sorted(set(pins) - set(there) - optional_packages())
    other = [f"{name} is {each.version}, pinned {pins[name]}" for name, each in there.items()
             if each.version != pins[name]]  # fmt: skip
    changed = [path for each in there.values() for path in changed_files(each)]
    found = []
    if missing:
        found.append(problem(f"Not installed: {_listed([f'{name} {pins[name]}' for name in missing])}.", _AGAIN))
    if changed:
        sentence = f"Not as they were installed: {_listed(changed)}."
        found.append(problem(sentence, f"find out who changed them, then {_AGAIN}"))
    if other:
        found.append(warning(f"Other versions than were tested: {_listed(other)}.", _AGAIN))
    told = f"{len(there)} packages are those that are pinned, and each of their files is as it was installed."
    yield from found_or(found, told, packages={name: each.version for name, each in sorted(there.items())})


def changed_files(package: metadata.Distribution) -> list[str]:
    """The files of a package that are gone, or whose bytes are not those that its RECORD states (PyPA: recording
    installed projects). `package.files` is no help: since Python 3.12 it leaves out what is gone."""
    changed = []
    for file, stated, *_ in csv.reader((package.read_text("RECORD") or "").splitlines()):
        mode, _, value = stated.partition("=")
        if mode != "sha256":
            continue
        try:
            with Path(str(package.locate_file(file))).open("rb") as body:
                digest = hashlib.file_digest(body, "sha256").digest()
        except OSError:
            changed.append(f"{file} is gone")
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != value:
            changed.append(file)
    return changed


def _installed() -> dict[str, metadata.Distribution]:
    """The installed packages by their normal names; of two of one name the one that is imported."""
    found: dict[str, metadata.Distribution] = {}
    for each in metadata.distributions():
        found.setdefault(normal(each.name), each)
    return found


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
