"""Which wheels stand for the packages of a lock file: pinned requirements, their conditions, and names of wheels.

    numpy==2.4.6 ; python_full_version < '3.12' --hash=sha256:… --hash=sha256:…

Wheels are taken in the order in which pip takes them, and where several builds differ in the platform alone, the one
that needs the lowest glibc: `manylinux_2_28_x86_64` needs 2.28 (PEP 600).
"""

import email
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from packaging.markers import InvalidMarker, Marker, UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from jobs.bundle.reader import digest_of
from jobs.config.load import shown
from jobs.errors import ConfigError, Problem

_PINNED: Final = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)\s*(?:;\s*(.*?))?((?:\s+--hash=sha256:[0-9a-f]{64})+)"
)
_TEXT: Final = re.compile(r"(licen[cs]e|copying|notice|authors|copyright)", re.I)
_MOST_TEXT = 2**22  # bytes of a licence
_OLD: Final = {"manylinux1_x86_64": (2, 5), "manylinux2010_x86_64": (2, 12), "manylinux2014_x86_64": (2, 17)}
_NEW: Final = re.compile(r"manylinux_(2)_(\d+)_x86_64")
_GLIBCS: Final = range(5, 51)  # minor versions of glibc 2, from that of manylinux1 to the newest that pip is asked for

Glibc = tuple[int, int]


@dataclass(frozen=True)
class Pinned:
    """A requirement that one version fulfils. `hashes`: the sha256 of each of its files."""

    name: str
    version: str
    marker: str
    hashes: frozenset[str]

    def to_line(self) -> str:
        """The requirement in a file for pip, without its marker."""
        return " ".join([f"{self.name}=={self.version}", *(f"--hash=sha256:{one}" for one in sorted(self.hashes))])


def read_lock(path: Path) -> tuple[Pinned, ...]:
    """The requirements of a lock file, as `make lock` writes it. ConfigError with file and line for what is none."""
    found = []
    for number, text in _statements(path.read_text(encoding="utf-8")):
        if (pinned := _PINNED.fullmatch(text)) is None:
            what = f"{text.split(' --hash')[0]!r} is no pinned requirement"
            raise ConfigError(Problem(shown(path), what, "NAME==VERSION --hash=sha256:…", "make lock", line=number))
        name, version, marker, hashes = pinned.groups()
        digests = frozenset(re.findall("[0-9a-f]{64}", hashes))
        found.append(Pinned(canonicalize_name(name), version, marker or "", digests))
    return tuple(found)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The statements of a lock file, each with the number of its first line."""
    first, parts = 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.split(" #")[0].strip() if not line.lstrip().startswith("#") else ""
        first = first if parts else number
        if bare.removesuffix("\\").strip():
            parts.append(bare.removesuffix("\\").strip())
        if parts and not bare.endswith("\\"):
            yield first, " ".join(parts)
            parts = []


def needed_by(locked: tuple[Pinned, ...], variables: Mapping[str, str], path: Path) -> dict[str, Pinned]:
    """The requirements of a lock file, by name, where markers see these variables. ConfigError."""
    found = dict[str, Pinned]()
    for pinned in locked:
        try:
            wanted = holds(pinned.marker, variables)
        except ValueError as error:
            raise ConfigError(Problem(shown(path), f"{pinned.name}: {error}")) from None
        if wanted and found.setdefault(pinned.name, pinned) != pinned:
            what = f"{pinned.name} is pinned twice for Python {variables['python_version']}"
            raise ConfigError(Problem(shown(path), what, None, "make lock"))
    return found


def holds(marker: str, variables: Mapping[str, str]) -> bool:
    """Whether a marker (PEP 508) holds there; an empty one always does. ValueError for what is no marker."""
    try:
        return not marker.strip() or Marker(marker).evaluate(dict(variables))
    except (InvalidMarker, UndefinedComparison, UndefinedEnvironmentName) as error:
        raise ValueError(f"no marker: {marker!r}") from error


def environment(python: str, extra: str = "") -> Mapping[str, str]:
    """What markers see on the machines that a bundle is for, with the Python of this version."""
    return {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "platform_machine": "x86_64",
        "platform_release": "",
        "platform_version": "",
        "extra": extra,
    }


def platforms() -> list[str]:
    """The platforms of x86-64 Linux, lowest glibc first."""
    old = {glibc: name for name, glibc in _OLD.items()}
    names = [(old.get((2, minor)), f"manylinux_2_{minor}_x86_64") for minor in _GLIBCS]
    return [name for pair in names for name in pair if name is not None]


@cache
def _order(python: str) -> Mapping[Tag, int]:
    """The tags of wheels that a Python (3.11) takes, each with its place in pip's order."""
    version = [int(part) for part in python.split(".")]
    own = f"cp{python.replace('.', '')}"
    tags = [*cpython_tags(version, [own], platforms()), *compatible_tags(version, own, platforms())]
    return {tag: place for place, tag in enumerate(tags)}


@dataclass(frozen=True)
class WheelName:
    """The file name of a wheel, and what it says: package, version, and tags (PEP 425)."""

    file: str
    package: str
    version: str
    tags: frozenset[Tag]

    @property
    def platforms(self) -> list[str]:
        """Its platforms, in their order in the name."""
        return self.file.removesuffix(".whl").rpartition("-")[2].split(".")

    @property
    def glibc(self) -> Glibc | None:
        """The lowest glibc with which it runs; None for a wheel without machine code."""
        return None if "any" in self.platforms else min(map(_glibc, self.platforms), key=_none_last)

    @property
    def lowest(self) -> str:
        """The name of the same wheel for the platform that needs least, which is all that pip looks at."""
        least = min(self.platforms, key=lambda platform: _none_last(_glibc(platform)))
        return f"{self.file.rpartition('-')[0]}-{'any' if 'any' in self.platforms else least}.whl"

    def rank(self, python: str) -> int | None:
        """Where it stands among the wheels of its version for a Python (3.11), lowest first; None if that cannot take
        it."""
        return min((_order(python)[tag] for tag in self.tags if tag in _order(python)), default=None)


def parse_wheel_name(file: str) -> WheelName | None:
    """The parts of a wheel's file name; None if it is no such name."""
    try:
        package, _, _, tags = parse_wheel_filename(file)
    except InvalidWheelFilename:
        return None
    return WheelName(file, package, file.split("-")[1], tags)


def format_glibc(glibc: Glibc) -> str:
    """A version of glibc as text: 2.28."""
    return f"{glibc[0]}.{glibc[1]}"


def _glibc(platform: str) -> Glibc | None:
    found = _NEW.fullmatch(platform)
    return (int(found[1]), int(found[2])) if found else _OLD.get(platform)


def _none_last(glibc: Glibc | None) -> Glibc:
    return (999, 0) if glibc is None else glibc


@dataclass(frozen=True)
class Wheel:
    """A wheel on this machine."""

    path: Path
    name: WheelName
    sha256: str

    @property
    def package(self) -> str:
        """The name of its package, in the one form that it has."""
        return self.name.package

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
            try:
                needed = Requirement(text)
                marker = str(needed.marker or "")
                wanted = any(holds(marker, environment(python, extra)) for extra in ("", *extras))
            except InvalidRequirement:
                raise _broken(self.path, f"needs {text!r}, which is no requirement") from None
            except ValueError as error:
                raise _broken(self.path, f"needs {text!r}: {error}") from None
            if wanted:
                yield canonicalize_name(needed.name), frozenset(needed.extras)

    def licence_texts(self) -> Mapping[str, bytes]:
        """The texts of its licences, by their path below the folder of metadata."""
        listed = {name.removeprefix(self._info) for name in self._names if name.startswith(self._info)}
        named = self.metadata.get_all("License-File", [])
        chosen = [
            name
            for name in sorted(listed)
            if not name.endswith("/") and (name in named or name.startswith("licenses/") or _TEXT.match(name))
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


def _broken(path: Path, what: str) -> ConfigError:
    return ConfigError(Problem(shown(path), f"is no wheel that can be carried: it {what}", None, "bring it again"))


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
        self._named = dict[tuple[str, str], list[tuple[Path, WheelName]]]()
        self._sha256 = cache(digest_of)
        for path in files:
            if (name := parse_wheel_name(path.name)) is not None:
                self._named.setdefault((name.package, name.version), []).append((path, name))

    def choose(self, pinned: Pinned, python: str) -> Wheel | None:
        """The wheel that stands for a requirement with this Python: of those with a pinned sha256 the one that pip
        would take, with the lowest glibc. None if there is none."""
        named = self._named.get((pinned.name, pinned.version), [])
        ranked = [(rank, path, name) for path, name in named if (rank := name.rank(python)) is not None]
        for _, path, name in sorted(ranked, key=lambda each: each[:2]):
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


def choose_all(folder: Folder, wanted: Mapping[str, Pinned], python: str) -> dict[str, Wheel]:
    """The wheel of each requirement of a Python. ConfigError that names all that are missing."""
    found = {name: folder.choose(pinned, python) for name, pinned in sorted(wanted.items())}
    problems = []
    for name in [name for name, wheel in found.items() if wheel is None]:
        about = folder.about(wanted[name])
        what = f"no wheel of {name} {wanted[name].version} for Python {python} on x86-64 Linux: {about}"
        problems.append(Problem(shown(folder.folder), what))
    if problems:
        raise ConfigError(*problems)
    return {name: wheel for name, wheel in found.items() if wheel is not None}


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
