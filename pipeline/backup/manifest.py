"""A backup's own files: backup.json says of what and when it is, files.jsonl has a line for each file and folder.

    NAME/backup.json      format, version, made, origin, public_key, size, root, keys, left_out, right, files_sha256
    NAME/files.jsonl      {"path", "sha256" (null for a folder), "size", "mode", "uid", "gid", "mtime_ns", "changed"}
    NAME/workspace/       the files
    NAME/keys/            the keys, if they were asked for

NAME is the time at which it was begun (UTC). A folder of backups has one such folder for each, and nothing else that
counts: one that was never finished is called .NAME.part.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.backup.tree import KEYS, Item

FORMAT = 1
ABOUT, FILES, WORKSPACE = "backup.json", "files.jsonl", "workspace"
_NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z(-\d+)?", re.ASCII)
_PART = re.compile(rf"\.{_NAME.pattern}\.part", re.ASCII)
_OUTSIDE = {"", ".", ".."}


class BackupRefusedError(Exception):
    """A backup that cannot be made there, or cannot be read: `where`, what was found, and what to do."""

    def __init__(self, where: Path | str, found: str, remedy: str | None = None) -> None:
        super().__init__(f"{where}: {found}")
        self.where = str(where)
        self.found = found
        self.remedy = remedy


@dataclass(frozen=True)
class About:
    """What a backup says of itself. `size` and `root` are of its log; `right`: its verification found nothing wrong."""

    version: str
    made: str
    origin: str
    public_key: str
    size: int
    root: str
    keys: bool
    left_out: Mapping[str, str]
    right: bool
    files_sha256: str
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class Saved:
    """A file or folder of a backup, and the sha256 of a file's bytes."""

    item: Item
    sha256: str | None

    def to_json(self) -> dict[str, Any]:
        """Its line in files.jsonl."""
        said = asdict(self.item)
        del said["folder"]
        return {**said, "sha256": self.sha256}


def name_of(moment: datetime, folder: Path) -> str:
    """The name of a backup that begins now: one that is not taken."""
    name = moment.strftime("%Y-%m-%dT%H%M%SZ")
    taken = (f"{name}-{number}" for number in range(2, 1_000_000))
    return name if not (folder / name).exists() else next(each for each in taken if not (folder / each).exists())


def part_of(name: str) -> str:
    """The name of a backup's folder until it is whole."""
    return f".{name}.part"


def backups_in(folder: Path) -> list[Path]:
    """The whole backups in a folder, the oldest first. OSError."""
    return sorted((each for each in folder.iterdir() if _NAME.fullmatch(each.name) and each.is_dir()), key=_order)


def parts_in(folder: Path) -> list[Path]:
    """The backups in a folder that were never finished. OSError."""
    return [each for each in folder.iterdir() if _PART.fullmatch(each.name)]


def _order(backup: Path) -> tuple[str, int]:
    moment, _, number = backup.name.partition("Z-")
    return moment.removesuffix("Z"), int(number or 1)


def place_of(backup: Path, path: str) -> tuple[Path, str]:
    """The folder of a backup in which a file of the workspace lies, and its path from there."""
    top, _, rest = path.partition("/")
    return (backup / KEYS, rest) if top == KEYS else (backup / WORKSPACE, path)


def write_manifest(backup: Path, saved: Iterable[Saved]) -> str:
    """Write files.jsonl; its sha256. OSError."""
    digest = hashlib.sha256()
    with (backup / FILES).open("xb") as file:
        for each in saved:
            line = json.dumps(each.to_json()).encode() + b"\n"
            digest.update(line)
            file.write(line)
    return digest.hexdigest()


def write_about(backup: Path, about: About) -> None:
    """Write backup.json. OSError."""
    with (backup / ABOUT).open("x", encoding="utf-8") as file:
        file.write(json.dumps(asdict(about), indent=1) + "\n")


def read_about(backup: Path) -> About:
    """What a backup says of itself. BackupRefusedError, OSError."""
    try:
        said = json.loads((backup / ABOUT).read_bytes())
        if said["format"] > FORMAT:
            found = f"a backup of format {said['format']}, which is newer than {FORMAT}"
            raise BackupRefusedError(backup, found, f"use Cloister {said['version']} or newer")
        return About(**{name: said[name] for name in About.__dataclass_fields__})
    except FileNotFoundError:
        raise BackupRefusedError(backup, f"no backup: it has no {ABOUT}", "name a folder that backup made") from None
    except (ValueError, KeyError, TypeError) as error:
        raise BackupRefusedError(backup / ABOUT, f"damaged: {error}", "take another backup") from error


def read_manifest(backup: Path, about: About) -> Iterator[Saved]:
    """The files and folders of a backup, once the whole list is known to be as it was written. BackupRefusedError,
    OSError."""
    try:
        opened = (backup / FILES).open("rb")
    except FileNotFoundError:
        raise BackupRefusedError(backup / FILES, "is missing from the backup", "take another backup") from None
    with opened as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != about.files_sha256:
            raise BackupRefusedError(backup / FILES, "has other bytes than backup.json says", "take another backup")
        file.seek(0)
        for line in file:
            said = json.loads(line)
            sha256 = said.pop("sha256")
            if not _OUTSIDE.isdisjoint(said["path"].split("/")):
                raise BackupRefusedError(backup / FILES, f"names {said['path']!r}, which leads out of the workspace")
            yield Saved(Item(**{**said, "changed": tuple(said["changed"])}, folder=sha256 is None), sha256)
