"""A rotation of the log's key that was cut off is ended, or undone, by the next command (steps: cli/audit_key.py)."""

from pathlib import Path

import audit
from jobs.amend import amend
from jobs.errors import ConfigError, Problem
from jobs.load import load_site, shown

SITE = "site.yaml"
NEXT = "site.yaml.next"


def settle_rotation(root: Path) -> bool:
    """End a rotation that was cut off, or undo what it had prepared. Whether site.yaml names another key now.
    ConfigError if it should and cannot be written."""
    if not (root / NEXT).exists():
        return False

    try:
        with audit.hold(root / "audit"):
            return _settle(root)
    except (audit.LogHeld, audit.LogUntrusted):  # held by the rotation itself; or no log, which is told by who opens it
        return False
    except audit.LogUnwritable as error:
        raise _unsettled(root, str(error)) from error


def _settle(root: Path) -> bool:
    if not (root / NEXT).exists():
        return False  # another process has just done it
    audit.sync_filesystem(root / "audit")  # what decides is on the disk before it decides
    now, new = load_site(root / SITE).log, load_site(root / NEXT).log
    try:
        signs = audit.current_key(root / "audit", now.public_key)
    except audit.LogUntrusted:
        return False  # a log that neither of them signs is not put right here; whoever opens it says what is wrong
    happened = signs == new.public_key != now.public_key
    try:
        if happened:
            replace_site(root)
        else:
            audit.remove_durably(root / NEXT)
    except OSError as error:
        raise _unsettled(root, f"{error.filename or SITE}: {error.strerror}") from error
    return happened


def replace_site(root: Path) -> None:
    """Let site.yaml name the key that site.yaml.next does: step 4 of a rotation. The rest of it, and its mode, stay."""
    file, new = (root / SITE).resolve(), load_site(root / NEXT).log
    mode = file.stat().st_mode & 0o777
    values = {"key": new.key, "public_key": new.public_key, "passphrase_file": new.passphrase_file}
    given = {key: value for key, value in values.items() if value is not None}
    audit.write_file_atomically(file, amend(file.read_bytes(), SITE, "log", given))
    file.chmod(mode)
    audit.remove_durably(root / NEXT)


def _unsettled(root: Path, why: str) -> ConfigError:
    found = f"the log's key is being replaced, which was cut off and cannot be ended: {why}"
    remedy = f"run any command as the user who owns {shown(root / SITE)}; it ends that"
    return ConfigError(Problem(shown(root / NEXT), found, None, remedy))
