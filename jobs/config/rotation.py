"""The signing key of a workspace is replaced: the log's entry and site.yaml change together, whatever is killed when.

    1. the new key            keys/log-2.key, which nothing refers to yet
    2. site.yaml.next         site.yaml as it shall be
    3. the handover           one commit of the log: now it has happened
    4. site.yaml              names the new key; site.yaml.next goes

Killed before 3, the log is signed by the old key, which site.yaml names: the next command removes site.yaml.next, and
the new key is a file that signs nothing. Killed after it, the next command does 4, once the old key's own signature
in the log says that it handed over. All four are done under the log's lock.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import audit
import pipeline
from jobs.config.amend import NEXT, SITE, amend, replace_site
from jobs.config.load import load_site, shown
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace
from jobs.errors import ConfigError, Problem
from jobs.stop import service_lock


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
    with service_lock(workspace.log), pipeline.open_journal(site) as journal:
        free = (name for n in range(2, 1 << 31) if not (name := site.key_file.with_name(f"log-{n}.key")).exists())
        file = (file or next(free)).absolute()
        made = not file.exists()
        with _refusals():
            protected = (made and passphrase is not None) or audit.is_protected(root / log.key if made else file)
            if not protected and passphrase is not None:
                remedy = "leave out --passphrase-file"
                raise ConfigError(Problem(shown(file), "a key without a passphrase", None, remedy))
            secret = (passphrase or workspace.passphrase_file) if protected else None
            public = audit.generate_key(file, log.origin, secret) if made else audit.public_key_of(file)
            if (origin := audit.parse_public_key(public).origin) != log.origin:
                raise audit.KeyRefused(f"the new key is of {origin!r}, this log is {log.origin!r}")
        values = {"key": _stored(root, file), "public_key": public}
        if passphrase is not None:
            values["passphrase_file"] = _stored(root, passphrase.absolute())
        try:
            audit.write_file_atomically(root / NEXT, amend((root / SITE).read_bytes(), SITE, "log", values))
            load_site(root / NEXT)
            with _refusals():
                n = journal.rotate(file, public, secret)
        except ConfigError:  # nothing was committed
            audit.remove_durably(root / NEXT)
            if made:
                audit.remove_durably(file)
            raise
        replace_site(root)
    return Rotated(n, log.public_key, public, _stored(root, file), made, secret is not None)


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """A new key that is refused is a mistake of the command, not of the log."""
    try:
        yield
    except audit.KeyRefused as error:
        raise ConfigError(Problem("key rotate", str(error))) from error


def _stored(root: Path, file: Path) -> str:
    """The name of a file in site.yaml: relative to the workspace if it lies there."""
    return str(file.relative_to(root) if file.is_relative_to(root) else file)
