"""Names of wheels: which Pythons take a wheel, and which glibc it needs.

    NAME-VERSION(-BUILD)-PYTHONS-ABIS-PLATFORMS.whl      the last three with points between several

PEP 425 and PEP 600: `manylinux_2_28_x86_64` needs glibc 2.28, `manylinux2014_x86_64` is an older name of 2.17. Wheels
are taken in the order in which pip takes them, and where several builds differ in the platform alone, the one that
needs the lowest glibc.
"""

import re
from dataclasses import dataclass, replace
from typing import Final

_NAME: Final = re.compile(r"([^-]+)-([^-]+)(?:-(\d[^-]*))?-([^-]+)-([^-]+)-([^-]+)\.whl")
_OLD: Final = {"manylinux1_x86_64": (2, 5), "manylinux2010_x86_64": (2, 12), "manylinux2014_x86_64": (2, 17)}
_NEW: Final = re.compile(r"manylinux_(2)_(\d+)_x86_64")
_NEWEST = 50  # the minor version of glibc that pip is asked for at the most
_OLDEST = 5  # that of manylinux1: no wheel can say that it needs an older one

Glibc = tuple[int, int]


@dataclass(frozen=True)
class WheelName:
    """The parts of a wheel's file name."""

    name: str
    version: str
    build: str
    pythons: tuple[str, ...]
    abis: tuple[str, ...]
    platforms: tuple[str, ...]

    def __str__(self) -> str:
        tags = (".".join(tags) for tags in (self.pythons, self.abis, self.platforms))
        return "-".join([self.name, self.version, *([self.build] if self.build else []), *tags]) + ".whl"

    @property
    def glibc(self) -> Glibc | None:
        """The lowest glibc with which it runs; None for a wheel without machine code."""
        return None if "any" in self.platforms else min(map(_glibc, self.platforms), default=None, key=_none_last)

    @property
    def lowest(self) -> "WheelName":
        """The same wheel under the platform that needs least, which is all that pip looks at."""
        if "any" in self.platforms:
            return replace(self, platforms=("any",))
        return replace(self, platforms=(min(self.platforms, key=lambda platform: _none_last(_glibc(platform))),))

    def rank(self, python: str) -> tuple[int, Glibc, str] | None:
        """Where it stands among the wheels of its version for a Python (3.11), lowest first; None if that cannot take
        it."""
        platform = (0, 0) if "any" in self.platforms else self.glibc
        ranks = [_rank(tag, abi, python) for tag in self.pythons for abi in self.abis]
        known = [rank for rank in ranks if rank is not None]
        if not known or platform is None:
            return None
        pure = 1000 if "any" in self.platforms else 0
        return min(known) + pure, platform, str(self)


def parse_wheel_name(file: str) -> WheelName | None:
    """The parts of a wheel's file name; None if it is no such name."""
    if (found := _NAME.fullmatch(file)) is None:
        return None
    name, version, build, *tags = found.groups()
    pythons, abis, platforms = (tuple(tag.split(".")) for tag in tags)
    return WheelName(name, version, build or "", pythons, abis, platforms)


def format_glibc(glibc: Glibc) -> str:
    """A version of glibc as text: 2.28."""
    return f"{glibc[0]}.{glibc[1]}"


def platforms() -> list[str]:
    """The platforms of x86-64 Linux, lowest glibc first."""
    old = {glibc: name for name, glibc in _OLD.items()}
    listed = [(2, minor) for minor in range(_OLDEST, _NEWEST + 1)]
    return [
        name
        for glibc in listed
        for name in (old.get(glibc), f"manylinux_{glibc[0]}_{glibc[1]}_x86_64")
        if name is not None
    ]


def _glibc(platform: str) -> Glibc | None:
    if platform in _OLD:
        return _OLD[platform]
    found = _NEW.fullmatch(platform)
    return (int(found[1]), int(found[2])) if found else None


def _none_last(glibc: Glibc | None) -> Glibc:
    return (999, 0) if glibc is None else glibc


def _rank(tag: str, abi: str, python: str) -> int | None:
    """The place of a pair of tags in pip's order: built for this Python, its stable ABI, older ones, any Python."""
    minor = int(python.partition(".")[2])
    own = f"cp3{minor}"
    if tag == own:
        return {own: 0, "abi3": 1, "none": 2}.get(abi)
    if abi == "abi3" and (found := re.fullmatch(r"cp3(\d+)", tag)) and 2 <= int(found[1]) < minor:
        return 3 + minor - int(found[1])
    if abi == "none" and (found := re.fullmatch(r"py3(\d*)", tag)) and (not found[1] or int(found[1]) <= minor):
        return 100 if found[1] == str(minor) else 101 if not found[1] else 101 + minor - int(found[1])
    return None
