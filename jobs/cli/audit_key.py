"""`cloister audit key new`, `show` and `rotate`: the key that signs the log.

In a rotation the log's entry and site.yaml change together, whatever is killed when:

    1. the new key            keys/log-2.key, which nothing refers to yet
    2. site.yaml.next         site.yaml as it shall be
    3. the handover           one commit of the log: now it has happened
    4. site.yaml              names the new key; site.yaml.next goes

Killed before 3, the log is signed by the old key, which site.yaml names: the next command removes site.yaml.next, and
the new key is a file that signs nothing. Killed after it, the next command does 4, once the old key's own signature
in the log says that it handed over. All four are done under the log's lock.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import audit
import pipeline
from jobs.cli.options import NewPassphrase, argument, option, refusing
from jobs.cli.printing import Answer, At
from jobs.config.amend import NEXT, SITE, amend, replace_site
from jobs.config.load import load_site, shown
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.stop import service_lock


def new(
    at: At,
    file: Annotated[Path, argument("FILE", "The file of the private key, which must not exist.")],
    origin: Annotated[
        str | None, option("--origin", "The log that it signs, or a witness's name; else the workspace's log.", "NAME")
    ] = None,
    passphrase: NewPassphrase = None,
) -> Answer:
    """Make a signing key (Ed25519), and print its public half.

    Only its owner may read the file. `audit key rotate FILE` makes it the key of a log.
    """
    name = at.workspace.site.log.origin if origin is None else origin
    with refusing("key new", audit.KeyRefused):
        public = audit.generate_key(file, name, passphrase)
    protected = ", protected by a passphrase" if passphrase else ""
    told = {"file": str(file.absolute()), "public_key": public, "protected": passphrase is not None}
    return Answer(told, [f"Made the key {shown(file)}{protected}", f"  public key  {public}"])


def show(
    at: At, file: Annotated[Path | None, argument("FILE", "A private key, to tell its public half.")] = None
) -> Answer:
    """Tell the public key of a log, and which keys signed it before.

    Private keys are not shown. Exit 4 if the log is not signed by the key of site.yaml.
    """
    if file is not None:
        with refusing("key show", audit.KeyRefused):
            public, protected = audit.public_key_of(file), audit.is_protected(file)
        return Answer({"file": str(file.absolute()), "public_key": public, "protected": protected}, [public])
    place = at.workspace
    log, folder, key = place.site.log, place.root / "audit", place.root / place.site.log.key
    try:
        signs: str | None = audit.current_key(folder, log.public_key)
    except audit.LogUntrusted:
        signs = None
    others = sorted(path for path in key.parent.glob("*.key") if path != key) if key.parent.is_dir() else ()
    keys = Keys(
        origin=log.origin,
        public_key=log.public_key,
        trusted=signs == log.public_key,
        signed_by=signs,
        key=_file(key, place.root),
        earlier=[
            {"public_key": each.old_key, "until": each.n, "time": each.time}
            for each in (audit.rotations(folder, signs) if signs else ())
        ],
        other_files=[_file(path, place.root) for path in others],
    )
    code = ExitCode.DONE if keys.trusted else ExitCode.AUDIT_FAILED
    return Answer({**vars(keys), "exit_code": code}, _key_lines(keys), code)


@dataclass(frozen=True)
class Keys:
    """The keys of a log: the one that site.yaml names, whether it signs the log, which one does, and the files of keys
    beside the workspace's own."""

    origin: str
    public_key: str
    trusted: bool
    signed_by: str | None
    key: dict[str, Any]
    earlier: list[dict[str, Any]]
    other_files: list[dict[str, Any]]


def _file(path: Path, root: Path) -> dict[str, Any]:
    try:
        public, protected = audit.public_key_of(path), audit.is_protected(path)
    except audit.KeyRefused as error:
        return {"file": _stored(root, path), "problem": str(error)}
    return {"file": _stored(root, path), "public_key": public, "protected": protected}


def _key_lines(keys: Keys) -> Iterator[str]:
    yield f"log         {keys.origin}"
    yield f"public key  {keys.public_key}"
    if keys.signed_by is None:
        yield "            THE LOG IS NOT SIGNED BY IT, nor by one that it handed over to"
    elif not keys.trusted:
        named = (each["file"] for each in keys.other_files if each.get("public_key") == keys.signed_by)
        yield "            it handed over to another key, which signs the log now. Write into site.yaml:"
        yield f"              key: {next(named, 'the file of that key')}"
        yield f"              public_key: {keys.signed_by}"
    yield f"key         {_line(keys.key)}"
    for each in keys.earlier:
        yield f"earlier     {each['public_key']}, until entry {each['until']:,} ({each['time']})"
    known = {each["public_key"] for each in keys.earlier}
    for each in keys.other_files:
        if each.get("public_key") in known:
            yield f"old file    {_line(each)}: signs nothing any more; take it away"
        elif each.get("public_key") != keys.signed_by:
            yield f"other file  {_line(each)}: no key of this log"


def _line(file: dict[str, Any]) -> str:
    if "problem" in file:
        return str(file["problem"])
    return f"{file['file']}{', protected by a passphrase' if file['protected'] else ''}"


def rotate(
    at: At,
    file: Annotated[
        Path | None, argument("FILE", "The new private key, made if it is not there; else a new file.")
    ] = None,
    passphrase: NewPassphrase = None,
) -> Answer:
    """Replace the key that signs the audit log.

    The old key hands over to the new one in an entry that both of them sign, and site.yaml names the new one. What the
    old key signed stays provable. A key with a passphrase is followed by one with the same, unless another is named.
    Stop `cloister serve` before.
    """
    log = at.workspace.site.log
    rotated = rotate_key(at.workspace, file, passphrase)
    return Answer({**asdict(rotated), "old_file": log.key}, [
        f"The log {log.origin} has another key since entry {rotated.n:,}, which both of them signed",
        f"  new key     {rotated.file}{', protected by a passphrase' if rotated.protected else ''}",
        f"  public key  {rotated.new_key}",
        "              keep a copy of it elsewhere: it is what proves the log",
        f"  old key     {log.key} signs nothing any more: take it away. Who has it could still sign another",
        "              history from that entry on, and show it to those who know no newer key",
    ])  # fmt: skip


@dataclass(frozen=True)
class Rotated:
    """Entry `n` hands over from one public key to another, whose private half is in `file`, relative to the workspace
    if it lies there. `made` by this rotation, or there before."""

    n: int
    old_key: str
    new_key: str
    file: str
    made: bool
    protected: bool


def rotate_key(workspace: Workspace, file: Path | None, passphrase: Path | None) -> Rotated:
    """Let the log's key hand over to the one in `file`, which is made unless it is there; if none is named, it is made
    beside the present one. `passphrase` is the file of its passphrase, by default the present key's.
    ConfigError, ServiceHeldError, audit.AuditError."""
    root, site, log = workspace.root, make_site(workspace), workspace.site.log
    with service_lock(workspace.log), pipeline.records.open_journal(site) as journal:
        file = (file or _free_name(site.key_file)).absolute()
        made = not file.exists()
        with refusing("key rotate", audit.KeyRefused):
            secret = _passphrase_of(workspace, file, passphrase)
            public = audit.generate_key(file, log.origin, secret) if made else audit.public_key_of(file)
            if (origin := audit.parse_public_key(public).origin) != log.origin:
                raise audit.KeyRefused(f"the new key is of {origin!r}, this log is {log.origin!r}")
        try:
            # Write site.yaml.next, which is step 2 of a rotation.
            values = {"key": _stored(root, file), "public_key": public}
            if passphrase is not None:
                values["passphrase_file"] = _stored(root, passphrase.absolute())
            audit.write_file_atomically(root / NEXT, amend((root / SITE).read_bytes(), SITE, "log", values))
            load_site(root / NEXT)
            with refusing("key rotate", audit.KeyRefused):
                n = journal.rotate(file, public, secret)
        except ConfigError:  # nothing was committed
            audit.remove_durably(root / NEXT)
            if made:
                audit.remove_durably(file)
            raise
        replace_site(root)
    return Rotated(n, log.public_key, public, _stored(root, file), made, secret is not None)


def _free_name(key: Path) -> Path:
    return next(name for n in range(2, 1 << 31) if not (name := key.with_name(f"log-{n}.key")).exists())


def _passphrase_of(workspace: Workspace, file: Path, passphrase: Path | None) -> Path | None:
    """The file of the new key's passphrase; None if it has none."""
    if not file.exists():
        protected = passphrase is not None or audit.is_protected(workspace.root / workspace.site.log.key)
    elif not (protected := audit.is_protected(file)) and passphrase is not None:
        raise ConfigError(Problem(shown(file), "a key without a passphrase", None, "leave out --passphrase-file"))
    return (passphrase or workspace.passphrase_file) if protected else None


def _stored(root: Path, file: Path) -> str:
    """The name of a file in site.yaml: relative to the workspace if it lies there."""
    return str(file.relative_to(root) if file.is_relative_to(root) else file)
