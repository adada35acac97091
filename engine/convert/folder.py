"""The files of a model folder: read with a cap, and each one's sha256 kept for the record."""

import hashlib
import json
import mmap
import stat
from pathlib import Path, PurePosixPath
from typing import Any

from engine.errors import BadModelFile

WEIGHTS = "model.safetensors"
MAX_TEXT_BYTES = 64 << 20
"""A tokenizer.json with 250,000 pieces and their merges has some 17 MB."""


class SourceFolder:
    """Reads files by their name inside the folder; `digests` maps the name of each file read to its sha256."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise BadModelFile(f"{path}: found no folder, expected one with config.json and model.safetensors")
        self.path = path
        self.digests: dict[str, str] = {}

    def has(self, name: str) -> bool:
        return self._inside(name).exists()

    def map(self, name: str) -> mmap.mmap:
        """The file's bytes, mapped read-only; at least one. Raises BadModelFile."""
        path = self._inside(name)
        try:
            if not stat.S_ISREG(path.stat().st_mode) or not path.stat().st_size:
                raise BadModelFile(f"{path}: found something else or no bytes, expected a file")
            with path.open("rb") as file:
                mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise BadModelFile(f"{path}: cannot be read: {error.strerror}") from error
        with memoryview(mapping) as view:
            self.digests[name] = hashlib.sha256(view).hexdigest()
        return mapping

    def text(self, name: str) -> str:
        """The whole of a UTF-8 file. Raises BadModelFile."""
        with self.map(name) as mapping:
            where = f"{self.path / name}"
            if len(mapping) > MAX_TEXT_BYTES:
                raise BadModelFile(f"{where}: found {len(mapping)} bytes, expected at most {MAX_TEXT_BYTES}")
            try:
                return str(mapping[:], "utf-8")
            except UnicodeDecodeError as error:
                raise BadModelFile(f"{where}: at byte {error.start}: {error.reason}, expected UTF-8") from error

    def json(self, name: str) -> Any:
        """Reads a JSON file of the folder. Raises BadModelFile."""
        return parse_json(self.text(name), f"{self.path / name}")

    def json_object(self, name: str) -> dict[str, Any]:
        """The object that a JSON file holds. Raises BadModelFile."""
        value = self.json(name)
        if not isinstance(value, dict):
            raise BadModelFile(f"{self.path / name}: found {type(value).__name__}, expected a JSON object")
        return value

    def _inside(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or not parts or not name.isprintable():
            raise BadModelFile(f"{self.path}: found the file name {name!r}, expected one inside the folder")
        return self.path.joinpath(*parts)


def parse_json(text: str, where: str) -> Any:
    """Strict JSON: no key twice in an object. Raises BadModelFile, whose message begins with `where`."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise BadModelFile(f"{where}: found a key twice in one object, expected different keys")
        return found

    try:
        return json.loads(text, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:
        raise BadModelFile(f"{where}: no JSON: {error}") from error


def as_dict(value: Any) -> dict[str, Any]:
    """A part of foreign JSON; what is no object is empty, and so unlike what is expected of it."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """A part of foreign JSON; what is no list is empty, and so unlike what is expected of it."""
    return value if isinstance(value, list) else []
