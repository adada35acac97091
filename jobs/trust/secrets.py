"""Checks of what is secret in a workspace: rights on it, the keys of the log and of what is encrypted, the log."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import audit
import pipeline
from jobs.config.load import shown
from jobs.config.workspace import CREDENTIAL, ENCRYPTION, FOLDERS, job_files_in
from jobs.errors import remedy_of, user_name
from jobs.stop import holder
from jobs.trust.finding import Found, ok, problem, stop, warning
from jobs.trust.patient import Patient
from jobs.trust.system import units_giving

_SECRET = ("keys", "private")
_TEXTS = ("inbox", "outbox", "archive", "failed", "state")
_WRITTEN = ("audit", "outbox", "archive", "failed", "state")
_DECIDING = ("audit", "jobs", "models", "state")
"""Who may write to these decides what runs, or what the log says of it."""
_ANOTHER = "run this as the user who runs Cloister, or restore the key from where it is kept: no run begins without it"
_RESTORE = "bring the right key back from where it is kept: no run begins without it"


def permissions(patient: Patient) -> Iterator[Found]:
    """Tell each right on folders, keys and files that decide what runs which is too wide, and each that is missing."""
    folder = patient.place
    found = [*too_wide(folder), *_own(folder)]
    owner = user_name(folder.stat().st_uid)
    yield from found or [ok(f"The workspace is {owner}'s, and nobody else may read its keys or write what decides.")]


def too_wide(folder: Path) -> list[Found]:
    """Each right of others that is too wide, whoever looks."""
    return [*_secrets(folder), *_reached(folder), *_group(folder)]


def _secrets(folder: Path) -> Iterator[Found]:
    for name in _SECRET:
        here = folder / name
        if here.is_dir() and here.stat().st_mode & 0o077:
            yield problem(f"Others may use {shown(here)}/ (mode {_mode(here)}).", f"chmod 700 {shown(here)}")
    keys = folder / "keys"
    for path in sorted(keys.iterdir()) if os.access(keys, os.R_OK | os.X_OK, effective_ids=True) else ():
        if path.is_file() and path.stat().st_mode & 0o077:
            yield problem(f"Others may use the key {shown(path)} (mode {_mode(path)}).", f"chmod 600 {shown(path)}")


def _reached(folder: Path) -> Iterator[Found]:
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


def _group(folder: Path) -> Iterator[Found]:
    paths = [folder / "site.yaml", *_there(folder, _DECIDING), *job_files_in(folder)]
    open_to = [path for path in paths if path.exists() and path.stat().st_mode & 0o020]
    if open_to:
        names = ", ".join(shown(path) for path in open_to)
        sentence = f"A group may write to {names}, and so decide what runs and what is handed to the log."
        yield warning(sentence, f"chmod g-w {names}, unless that is meant")


def _own(folder: Path) -> Iterator[Found]:
    me, owner = os.geteuid(), folder.stat().st_uid
    barred = [path for path in _written(folder) if not os.access(path, os.R_OK | os.W_OK | os.X_OK, effective_ids=True)]
    if barred:
        remedy = f"run Cloister as {user_name(owner)}, or chown -R {user_name(me)} {shown(folder)}"
        if me == owner:
            remedy = f"chmod u+rwx {' '.join(map(shown, barred))}; or mount the file system for writing"
        yield stop(f"{user_name(me)} may not write to {', '.join(map(shown, barred))}.", remedy)
    elif me != owner:
        name = user_name(owner)
        sentence = f"The workspace is {name}'s, and this looks at it as {user_name(me)}, who may do other things."
        yield warning(sentence, f"run this as {name}: runuser -u {name} -- cloister doctor")


def _written(folder: Path) -> Iterator[Path]:
    for path in _there(folder, _WRITTEN):
        yield path
        if os.access(path, os.R_OK | os.X_OK, effective_ids=True):
            yield from sorted(each for each in path.iterdir() if each.is_dir() and not each.is_symlink())


def _there(folder: Path, names: Sequence[str]) -> list[Path]:
    return [folder / name for name in names if (folder / name).is_dir()]


def _mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o7777:04o}"


def key(patient: Patient) -> Iterator[Found]:
    """Tell whether a run would have the key that signs the log: there, the one that site.yaml trusts, and opened by the
    passphrase that it needs."""
    site, passphrase = patient.site, patient.site.passphrase_file
    figures = {"public_key": site.public_key}
    try:
        protected, found = audit.is_protected(site.key_file), audit.public_key_of(site.key_file)
        if found != site.public_key:
            sentence = f"{shown(site.key_file)} signs as {found}, but site.yaml trusts {site.public_key}."
            yield stop(sentence, "put the right key there; `cloister audit key show` tells of rotations", **figures)
            return
        if protected and passphrase is None:
            yield _without_passphrase(patient, figures)
            return
        audit.derive_secret(site.key_file, site.public_key, "doctor", passphrase)
    except audit.KeyRefused as error:
        yield stop(f"{error.found}.", error.remedy or _ANOTHER, **figures)
        return
    opened = f", and {shown(passphrase)} opens it" if protected and passphrase else ""
    yield ok(f"{shown(site.key_file)} is the key that site.yaml trusts{opened}.", **figures)


def _without_passphrase(patient: Patient, figures: dict[str, str]) -> Found:
    told = f"{shown(patient.site.key_file)} has a passphrase"
    if giving := units_giving(patient.root, CREDENTIAL):
        return ok(f"{told}, which {giving[0]} gives to its service; it was not tried here.", **figures)
    remedy = "name its file as log: {passphrase_file: PATH} in site.yaml, or let the unit load the credential"
    return stop(f"{told}, and nothing gives it.", f"{remedy} {CREDENTIAL}", **figures)


def encryption(patient: Patient) -> Iterator[Found]:
    """Tell whether a run could encrypt, and read what is encrypted: its key is there, for its owner alone, and the one
    that wrapped the keys of what is there."""
    rest = patient.site.at_rest
    if not rest.on:
        yield ok("site.yaml asks for no encryption: documents and results lie as they are.")
        return
    if rest.key_file is None and (giving := units_giving(patient.root, ENCRYPTION)):
        yield ok(f"{giving[0]} gives the key of what is encrypted to its service; it was not tried here.")
        return
    try:
        rest.store.check()
    except pipeline.atrest.EncryptedError as error:
        cause = error.__cause__
        refused = cause if isinstance(cause, audit.KeyRefused) else None
        yield stop(f"{refused.found if refused else error.sentence}.", (refused and refused.remedy) or _RESTORE)
        return
    assert rest.key_file is not None  # or there would be no key to check
    yield ok(f"{shown(rest.key_file)} is the key that opens what is encrypted.")


def log(patient: Patient) -> Iterator[Found]:
    """Tell whether a run could open the log, without opening it, and whether it is what its key signed; of a long one,
    its end. `cloister audit verify` checks all of it, and holds results and documents against it."""
    site = patient.site
    lock = site.audit / "lock"
    try:
        size = audit.check_tail(site.audit, site.public_key).size
        whole = patient.register is not None
    except audit.LogUntrusted as error:
        remedy = "change nothing by hand: OPERATING.md (The log cannot be trusted) says what to do, step by step"
        yield stop(f"The log cannot be trusted: {error.where}: {error.message}.", remedy)
        return
    except audit.AuditError as error:
        right = remedy_of(error.__cause__) if isinstance(error.__cause__, OSError) else None
        yield stop(f"The log cannot be read: {error}.", right or "let the user who runs Cloister read and write audit/")
        return
    if not lock.is_file():
        yield stop(f"{shown(lock)} is missing, so no run can begin.", f"touch {shown(lock)}", entries=size)
        return
    # what of the log a commit opens or makes files in
    written = [site.audit, lock, site.audit / "entries", site.audit / "tile"]
    written += sorted((site.audit / "entries").glob("*.jsonl"))[-1:]
    if barred := next(filter(None, map(audit.how_to_reach, written)), None):
        yield stop(f"This user may not write to {shown(site.audit)}/, so no run can begin.", barred, entries=size)
        return
    held = f" Process {pid} writes to it." if (pid := holder(lock)) else ""
    rest = "results and documents" if whole else "all of them"
    signed = "all as they were signed" if whole else "whose end is as it was signed"
    yield ok(f"{size:,} entries, {signed}; cloister audit verify checks {rest} too.{held}", entries=size)
