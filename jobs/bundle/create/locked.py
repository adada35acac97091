"""A lock file, as `make lock` writes it: pinned requirements with the sha256 of each file that may stand for them.

    numpy==2.4.6 ; python_full_version < '3.12' \\
        --hash=sha256:… \\
        --hash=sha256:…
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.bundle.create.markers import environment, holds
from jobs.errors import ConfigError, Problem
from jobs.load import shown

_PINNED: Final = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9.!+_-]+)\s*(?:;\s*(.*?))?((?:\s+--hash=sha256:[0-9a-f]{64})+)"
)


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


def normal(name: str) -> str:
    """The one form of a package's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> tuple[Pinned, ...]:
    """The requirements of a lock file. ConfigError with file and line for what is none."""
    found = []
    for number, text in _statements(path.read_text(encoding="utf-8")):
        if (pinned := _PINNED.fullmatch(text)) is None:
            what = f"{text.split(' --hash')[0]!r} is no pinned requirement"
            raise ConfigError(Problem(shown(path), what, "NAME==VERSION --hash=sha256:…", "make lock", line=number))
        name, version, marker, hashes = pinned.groups()
        digests = frozenset(re.findall("[0-9a-f]{64}", hashes))
        found.append(Pinned(normal(name), version, marker or "", digests))
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


def needed_by(locked: tuple[Pinned, ...], python: str, path: Path) -> dict[str, Pinned]:
    """The requirements that this Python has, by name. ConfigError."""
    found = dict[str, Pinned]()
    for pinned in locked:
        try:
            wanted = holds(pinned.marker, environment(python))
        except ValueError as error:
            raise ConfigError(Problem(shown(path), f"{pinned.name}: {error}")) from None
        if wanted and found.setdefault(pinned.name, pinned) != pinned:
            what = f"{pinned.name} is pinned twice for Python {python}"
            raise ConfigError(Problem(shown(path), what, None, "make lock"))
    return found
