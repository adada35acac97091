"""A baseline: what was found on one day, kept in a file, and what has changed since then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import audit
from jobs.doctor.base import Check, Figure, Level
from jobs.doctor.examine import Examined
from jobs.errors import ConfigError, Problem
from jobs.load import shown

_FORM = "cloister doctor 1"
_ORDER = [Level.OK, Level.WARNING, Level.PROBLEM]


@dataclass(frozen=True)
class Baseline:
    """The findings of a day: `levels` has the worst of each check, `figures` its figures."""

    made_at: str
    levels: Mapping[str, Level]
    figures: Mapping[str, Mapping[str, Figure]]


@dataclass(frozen=True)
class Change:
    """One thing that has changed since a baseline."""

    check: str
    sentence: str


def baseline_of(examined: Sequence[Examined], made_at: str) -> Baseline:
    """The baseline of what was found."""
    levels: dict[str, Level] = {}
    figures: dict[str, dict[str, Figure]] = {}
    for each in examined:
        levels[each.check] = max(levels.get(each.check, Level.OK), each.finding.level, key=_ORDER.index)
        figures.setdefault(each.check, {}).update(each.finding.figures)
    return Baseline(made_at, levels, figures)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write it whole or not at all. OSError."""
    checks = {name: {"level": level, "figures": baseline.figures[name]} for name, level in baseline.levels.items()}
    document = {"form": _FORM, "made_at": baseline.made_at, "checks": checks}
    audit.write_file_atomically(path, (json.dumps(document, indent=2) + "\n").encode())


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file that `write_baseline` wrote. ConfigError."""
    try:
        said = json.loads(path.read_bytes())
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _refused(path, f"is no JSON ({error})") from error
    if not isinstance(said, dict) or said.get("form") != _FORM:
        raise _refused(path, "is no baseline of this version")
    try:
        return _read(said)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _refused(path, "is no whole baseline") from error


def changes(before: Baseline, now: Baseline, checks: Mapping[str, Check]) -> Iterator[Change]:
    """Tell what has changed, check by check: how good it is, and each figure by its rule."""
    for name, check in checks.items():
        if name not in before.levels or name not in now.levels:
            continue
        was, level = before.levels[name], now.levels[name]
        if was != level:
            yield Change(name, f"was {was}, is {level}")
        old, new = before.figures[name], now.figures[name]
        for figure, compare in check.FIGURES.items():
            if figure in old and figure in new and (said := compare(old[figure], new[figure])):
                yield Change(name, f"{figure} {said}")
    left = [name for name in before.levels if name not in now.levels]
    yield from (Change(name, "was looked at then, and is not now") for name in left)


def _read(said: Mapping[str, Any]) -> Baseline:
    levels = {str(name): Level(each["level"]) for name, each in said["checks"].items()}
    figures = {str(name): dict(each["figures"]) for name, each in said["checks"].items()}
    return Baseline(str(said["made_at"]), levels, figures)


def _refused(path: Path, found: str) -> ConfigError:
    expected = "a file that `cloister doctor --save FILE` wrote"
    return ConfigError(Problem(shown(path), found, expected, "make a new one, and compare from then on"))
