"""Wheels: the right one of a folder for each requirement and Python, and what a wheel says of itself."""

import email
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

from jobs.bundle.create.locked import Pinned, normal
from jobs.bundle.create.markers import environment, holds
from jobs.bundle.create.tags import WheelName, parse_wheel_name
from jobs.errors import ConfigError, Problem
from jobs.load import shown

_REQUIRED: Final = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?\s*\(?([^;()]*)\)?\s*(?:;(.*))?")
_TEXT: Final = re.compile(r"(licen[cs]e|copying|notice|authors|copyright)", re.I)
_MOST_TEXT = 2**22  # bytes of a licence


@dataclass(frozen=True)
class Wheel:
    """A wheel on this machine. `python` is that of each of the bundle's Pythons that takes it."""

    path: Path
    name: WheelName
    sha256: str

    @property
    def package(self) -> str:
        """The name of its package, in the one form that it has."""
        return normal(self.name.name)

    @property
    def version(self) -> str:
        """The version of its package."""
        return self.name.version

    @cached_property
    def metadata(self) -> Message:
        """The core metadata (PEP 566). ConfigError for a wheel that has none."""
        return email.message_from_bytes(self._read(f"{self._info}METADATA"))

    def requirements(self, python: str, extras: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
        """The packages that it needs with this Python and these extras, each with the extras that it asks of it."""
        for text in self.metadata.get_all("Requires-Dist", []):
            found = _REQUIRED.fullmatch(text.strip())
            if found is None:
                raise _broken(self.path, f"needs {text!r}, which is no requirement")
            name, asked, _, marker = found.groups()
            try:
                wanted = any(holds(marker or "", environment(python, extra)) for extra in ("", *extras))
            except ValueError as error:
                raise _broken(self.path, f"needs {text!r}: {error}") from None
            if wanted:
                yield normal(name), frozenset(part.strip() for part in (asked or "").split(",") if part.strip())

    def licence_texts(self) -> Mapping[str, bytes]:
        """The texts of its licences, by their path below the folder of metadata."""
        listed = {name.removeprefix(self._info) for name in self._names if name.startswith(self._info)}
        told = [f"licenses/{name}" for name in self.metadata.get_all("License-File", [])]
        told += self.metadata.get_all("License-File", [])
        chosen = [
            name
            for name in sorted(listed)
            if not name.endswith("/") and (name in told or name.startswith("licenses/") or _TEXT.match(name))
        ]
        return {name.removeprefix("licenses/"): self._read(self._info + name) for name in chosen}

    @cached_property
    def _names(self) -> tuple[str, ...]:
        try:
            with zipfile.ZipFile(self.path) as file:
                return tuple(file.namelist())
        except (zipfile.BadZipFile, OSError) as error:
            raise _broken(self.path, f"cannot be read: {error}") from None

    @cached_property
    def _info(self) -> str:
        found = {name.split("/")[0] for name in self._names if name.split("/")[0].endswith(".dist-info")}
        if len(found) != 1:
            raise _broken(self.path, f"has {len(found)} folders of metadata")
        return f"{found.pop()}/"

    def _read(self, name: str) -> bytes:
        try:
            with zipfile.ZipFile(self.path) as file, file.open(name) as member:
                return member.read(_MOST_TEXT)
        except (zipfile.BadZipFile, KeyError, OSError, RuntimeError) as error:
            raise _broken(self.path, f"cannot be read: {error}") from None


class Folder:
    """A folder of wheels, of which each is read once."""

    def __init__(self, folder: Path) -> None:
        try:
            files = sorted(folder.iterdir())
        except OSError as error:
            raise ConfigError(
                Problem(shown(folder), f"cannot be read: {error.strerror}", "a folder of wheels")
            ) from None
        self.folder = folder
        self._known: dict[Path, str] = {}
        self._named = dict[tuple[str, str], list[tuple[Path, WheelName]]]()
        for path in files:
            if (name := parse_wheel_name(path.name)) is not None:
                self._named.setdefault((normal(name.name), name.version), []).append((path, name))

    def choose(self, pinned: Pinned, python: str) -> Wheel | None:
        """The wheel that stands for a requirement with this Python: of those with a pinned sha256 the one that pip
        would take, with the lowest glibc. None if there is none."""
        ranked = []
        for path, name in self._named.get((pinned.name, pinned.version), []):
            if (rank := name.rank(python)) is not None:
                ranked.append((rank, path, name))
        for _, path, name in sorted(ranked):
            if self._sha256(path) in pinned.hashes:
                return Wheel(path, name, self._sha256(path))
        return None

    def about(self, pinned: Pinned) -> str:
        """Why there is no wheel for a requirement, in a few words."""
        there = [path.name for path, _ in self._named.get((pinned.name, pinned.version), [])]
        other = sorted({version for name, version in self._named if name == pinned.name})
        if there:
            known = [name for name in there if self._sha256(self.folder / name) in pinned.hashes]
            what = "is for another Python or platform" if known else "has not the sha256 of the lock"
            return f"{(known or there)[0]} {what}"
        return f"there is version {', '.join(other)}" if other else "there is none"

    def _sha256(self, path: Path) -> str:
        if path not in self._known:
            digest = sha256()
            with path.open("rb") as stream:
                while block := stream.read(1 << 20):
                    digest.update(block)
            self._known[path] = digest.hexdigest()
        return self._known[path]


def choose_all(folder: Folder, wanted: Mapping[str, Pinned], python: str) -> dict[str, Wheel]:
    """The wheel of each requirement of a Python. ConfigError that names all that are missing."""
    found, problems = dict[str, Wheel](), list[Problem]()
    for name, pinned in sorted(wanted.items()):
        wheel = folder.choose(pinned, python)
        if wheel is None:
            what = f"no wheel of {name} {pinned.version} for Python {python} on x86-64 Linux: {folder.about(pinned)}"
            problems.append(Problem(shown(folder.folder), what))
        else:
            found[name] = wheel
    if problems:
        raise ConfigError(*problems)
    return found


def closure(
    wheels: Mapping[str, Wheel], roots: Iterable[tuple[str, frozenset[str]]], python: str, lock: str
) -> dict[str, set[str]]:
    """Each package that the roots need, with those that it needs itself. ConfigError if one has no wheel, because it
    does not stand in the file `lock`."""
    graph, extras = dict[str, set[str]](), dict[str, frozenset[str]]()
    waiting = list(roots)
    while waiting:
        name, asked = waiting.pop()
        if name in graph and asked <= extras[name]:
            continue
        if name not in wheels:
            what = f"has no {name}, which is needed with Python {python}"
            raise ConfigError(Problem(lock, what, None, "make lock"))
        extras[name] = extras.get(name, frozenset()) | asked
        needed = list(wheels[name].requirements(python, extras[name]))
        graph[name] = {package for package, _ in needed} - {name}
        waiting += needed
    return graph


def _broken(path: Path, what: str) -> ConfigError:
    return ConfigError(Problem(shown(path), f"is no wheel that can be carried: it {what}", None, "bring it again"))
