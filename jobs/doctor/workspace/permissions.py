"""Who may read and write the workspace: owners and modes of its folders, keys and files that decide what runs."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

from jobs.doctor.base import Figures, Finding, Needs, ok, problem, stop, warning
from jobs.doctor.patient import Patient
from jobs.load import shown
from jobs.workspace import FOLDERS, job_files_in

NEEDS = Needs.FOLDER
FIGURES: Figures = {}
_SECRET = ("keys", "private")
_TEXTS = ("inbox", "outbox", "archive", "failed", "state")
_WRITTEN = ("audit", "outbox", "archive", "failed", "state")
_DECIDING = ("audit", "jobs", "models", "state")
"""Who may write to these decides what runs, or what the log says of it."""


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell each right that is too wide, and each that is missing."""
    folder = patient.place
    found = [*too_wide(folder), *_own(folder)]
    owner = _name(folder.stat().st_uid)
    yield from found or [ok(f"The workspace is {owner}'s, and nobody else may read its keys or write what decides.")]


def too_wide(folder: Path) -> list[Finding]:
    """Each right of others that is too wide, whoever looks."""
    return [*_secrets(folder), *_reached(folder), *_group(folder)]


def _secrets(folder: Path) -> Iterator[Finding]:
    for name in _SECRET:
        here = folder / name
        if here.is_dir() and here.stat().st_mode & 0o077:
            yield problem(f"Others may use {shown(here)}/ (mode {_mode(here)}).", f"chmod 700 {shown(here)}")
    keys = folder / "keys"
    for path in sorted(keys.iterdir()) if os.access(keys, os.R_OK | os.X_OK, effective_ids=True) else ():
        if path.is_file() and path.stat().st_mode & 0o077:
            yield problem(f"Others may use the key {shown(path)} (mode {_mode(path)}).", f"chmod 600 {shown(path)}")


def _reached(folder: Path) -> Iterator[Finding]:
    """What everybody may do, if everybody comes as far as the workspace."""
    above = [folder.resolve(), *folder.resolve().parents]
    if not all(each.stat().st_mode & 0o001 for each in above):
        return
    for path in (folder, *_there(folder, FOLDERS), folder / "audit", folder / "site.yaml", *job_files_in(folder)):
        if path.exists() and path.stat().st_mode & 0o002:
            yield problem(f"Everybody may write to {shown(path)} (mode {_mode(path)}).", f"chmod o-w {shown(path)}")
    readable = [path for path in _there(folder, _TEXTS) if path.stat().st_mode & 0o005]
    if readable:
        names = ", ".join(f"{path.name}/" for path in readable)
        sentence = f"Everybody on this machine may read {names} with the texts of documents."
        yield warning(sentence, f"chmod o-rwx {shown(folder)}; and umask 077 for the service (UMask= in the unit)")


def _group(folder: Path) -> Iterator[Finding]:
    paths = [folder / "site.yaml", *_there(folder, _DECIDING), *job_files_in(folder)]
    open_to = [path for path in paths if path.exists() and path.stat().st_mode & 0o020]
    if open_to:
        names = ", ".join(shown(path) for path in open_to)
        sentence = f"A group may write to {names}, and so decide what runs and what is handed to the log."
        yield warning(sentence, f"chmod g-w {names}, unless that is meant")


def _own(folder: Path) -> Iterator[Finding]:
    me, owner = os.geteuid(), folder.stat().st_uid
    barred = [path for path in _written(folder) if not os.access(path, os.R_OK | os.W_OK | os.X_OK, effective_ids=True)]
    if barred:
        names = ", ".join(shown(path) for path in barred)
        if me == owner:
            remedy = f"chmod u+rwx {' '.join(map(shown, barred))}; or mount the file system for writing"
        else:
            remedy = f"run Cloister as {_name(owner)}, or chown -R {_name(me)} {shown(folder)}"
        yield stop(f"{_name(me)} may not write to {names}.", remedy)
    elif me != owner:
        sentence = f"The workspace is {_name(owner)}'s, and this looks at it as {_name(me)}, who may do other things."
        yield warning(sentence, f"run this as {_name(owner)}: runuser -u {_name(owner)} -- cloister doctor")


def _written(folder: Path) -> Iterator[Path]:
    """The folders in which runs write, with those of the jobs in them."""
    for path in _there(folder, _WRITTEN):
        yield path
        if os.access(path, os.R_OK | os.X_OK, effective_ids=True):
            yield from sorted(each for each in path.iterdir() if each.is_dir() and not each.is_symlink())


def _there(folder: Path, names: tuple[str, ...]) -> list[Path]:
    return [folder / name for name in names if (folder / name).is_dir()]


def _mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:04o}"


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"
