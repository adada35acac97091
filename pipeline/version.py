"""Which version of Cloister wrote a workspace last, and in which format: version.json beside site.yaml.

    {"format": 1, "version": "0.1.0"}

Versions that have the same number of the format read and write each other's workspaces. The number is raised by a
version whose workspaces an earlier one would misread; that one then refuses them, by the name of the version. A
workspace without the file is of format 1: versions that knew no other wrote none.

The file is there before the first byte that another version writes, and the log says of it too (`version.changed`).
Until it does, the file has `before` besides, so that a kill in between leaves out nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import audit

FORMAT = 1
"""The format that this version writes, and the newest that it reads."""
VERSION_FILE = "version.json"
_MOST_BYTES = 4_096


class WorkspaceRefusedError(Exception):
    """A workspace that this version cannot read: of a newer format, or with a version.json that says nothing."""

    def __init__(self, found: str, expected: str, remedy: str) -> None:
        super().__init__(f"{found}; expected {expected}; {remedy}")
        self.found = found
        self.expected = expected
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class WorkspaceVersion:
    """The number of a format, and the version of Cloister that writes it."""

    format: int
    version: str


@dataclass(frozen=True)
class Written:
    """What version.json says. `before`: what it said before, as long as the log does not tell of that."""

    now: WorkspaceVersion
    before: WorkspaceVersion | None = None


@cache
def this_version() -> WorkspaceVersion:
    """This version, and the format that it writes."""
    return WorkspaceVersion(FORMAT, metadata.version("cloister"))


def check_version(root: Path) -> None:
    """Raise WorkspaceRefusedError unless this version reads the workspace. Nothing is written."""
    read_version(root)


def read_version(root: Path) -> Written | None:
    """Return what version.json says; None if there is none. WorkspaceRefusedError, also for a newer format."""
    try:
        with (root / VERSION_FILE).open("rb") as file:
            data = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    try:
        said = json.loads(data)
        now, before = _version(said), said.get("before")
        written = Written(now, _version(before) if before is not None else None)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise WorkspaceRefusedError(
            f"{VERSION_FILE} does not say which version wrote this workspace",
            f'an object such as {{"format": {FORMAT}, "version": "{this_version().version}"}}',
            "bring the file back from a backup",
        ) from None
    if now.format > FORMAT:
        raise WorkspaceRefusedError(
            f"a workspace of format {now.format}, which Cloister {now.version} wrote; "
            f"this is Cloister {this_version().version}",
            f"format {FORMAT} or older",
            f"use Cloister {now.version} or newer; nothing was changed",
        )
    return written


def write_version(root: Path, before: WorkspaceVersion | None = None) -> None:
    """Let version.json name this version, and `before` what the log has still to tell. OSError."""
    said = asdict(this_version()) | ({"before": asdict(before)} if before else {})
    audit.write_file_atomically(root / VERSION_FILE, (json.dumps(said) + "\n").encode())


def _version(said: Mapping[str, Any]) -> WorkspaceVersion:
    number, version = said["format"], said["version"]
    if type(number) is not int or number < 1 or not isinstance(version, str) or not version:
        raise ValueError(said)
    return WorkspaceVersion(number, version)
