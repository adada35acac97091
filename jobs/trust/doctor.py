"""`cloister doctor`: whether this machine and a workspace are fit for a night, now and since a baseline.

To add a check, write a function that tells what it found, and name it here and in README.md.
"""

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

import audit
import pipeline
from jobs.config.load import shown
from jobs.config.workspace import Workspace
from jobs.errors import ConfigError, Problem, user_name, where_kept
from jobs.trust import machine, secrets, system, workspace
from jobs.trust.finding import Compared, Figure, Found, Level, fewer, less_bytes, problem, same, slower, stop
from jobs.trust.patient import Patient


class Needs(Enum):
    """What has to be there for a check: the machine alone, the folder of a workspace, or what its site.yaml says."""

    MACHINE = "machine"
    FOLDER = "folder"
    SITE = "site"


@dataclass(frozen=True)
class Check:
    """A function that looks at one thing and tells what it found, and mends nothing; what it needs; and how each of its
    figures that can change is compared."""

    examine: Callable[[Patient], Iterator[Found]]
    needs: Needs = Needs.MACHINE
    figures: Mapping[str, Compared] = field(default_factory=dict)


_FOLDER, _SITE = Needs.FOLDER, Needs.SITE
_SOFTWARE = ("host", "kernel", "glibc", "python", "cloister")
CHECKS: Mapping[str, Check] = {
    "processor": Check(machine.processor, figures={"cpu": same, "isa": same}),
    "cores": Check(machine.cores, figures={"cpus": fewer, "threads": fewer}),
    "memory": Check(machine.memory, figures={"bytes": less_bytes(0.05)}),
    "limits": Check(machine.limits, figures={"open_files": fewer}),
    "sandbox": Check(machine.sandbox, figures={"lacking": same}),
    "software": Check(system.software, figures=dict.fromkeys(_SOFTWARE, same)),
    "packages": Check(system.packages, figures={"packages": same}),
    "kernels": Check(machine.kernels),
    "ocr": Check(machine.ocr, figures={"tesseract": same, "languages": same}),
    "clock": Check(system.clock, figures={"synchronized": same}),
    "timezones": Check(system.timezones, figures={"version": same, "zone": same}),
    "service": Check(system.service, figures={"units": same}),
    "disk": Check(workspace.disk, figures={"total": less_bytes(0.02)}),
    "site": Check(workspace.site, _FOLDER, {"origin": same}),
    "jobs": Check(workspace.jobs, _FOLDER, {"jobs": same}),
    "filesystem": Check(workspace.filesystem, _FOLDER, {"kinds": same}),
    "sync": Check(workspace.sync, _FOLDER, {"median_ms": slower(2, 0.5), "worst_ms": slower(5, 100)}),
    "permissions": Check(secrets.permissions, _FOLDER),
    "key": Check(secrets.key, _SITE, {"public_key": same}),
    "encryption": Check(secrets.encryption, _SITE),
    "log": Check(secrets.log, _SITE, {"entries": fewer}),
}
"""The checks by name, in the order in which they are told."""
_OF_ALL = ("processor", "sandbox", "ocr", "clock", "filesystem")
_OF_OWNER = ("permissions", "key", "encryption", "log")
"""These look at what the user who runs the jobs may do, which others can only ask him."""

_ROOM = "make room on that disk, and give the command again"
_LET = "run this as the user who runs Cloister, or let it read that"
_REMEDIES = {
    errno.EACCES: _LET,
    errno.EPERM: _LET,
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "mount that file system for writing",
    errno.ENOENT: "find out what removed it; cloister restore brings back what was in a backup",
}
_OF_THE_DISK = "find out what is wrong with the disk that it lies on: dmesg shows what the kernel met"
_FORM = "cloister doctor 1"
_ORDER = [Level.OK, Level.WARNING, Level.PROBLEM]


@dataclass(frozen=True)
class Examined:
    """One line: the check, and what it found."""

    check: str
    finding: Found


def examine(patient: Patient, checks: Mapping[str, Check]) -> Iterator[Examined]:
    """Tell what the checks find, of those for which there is what they need. One that fails is a problem line, and the
    others go on."""
    there = {Needs.MACHINE: True, Needs.FOLDER: patient.folder is not None, Needs.SITE: patient.workspace is not None}
    for name, check in checks.items():
        if there[check.needs]:
            yield from (Examined(name, finding) for finding in _looked(check, patient))


def _looked(check: Check, patient: Patient) -> Iterator[Found]:
    try:
        yield from check.examine(patient)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        remedy = _REMEDIES.get(error.errno or 0, _OF_THE_DISK)
        yield stop(f"This cannot be looked at: {place}{error.strerror or error}.", remedy)
    except Exception as error:
        sentence = f"A defect of Cloister, this check failed: {type(error).__name__}: {error}"
        yield problem(sentence, f"report it; {where_kept(error, patient.folder)}")


def hindrances(place: Workspace) -> Iterator[Found]:
    """Yield what would stop all runs of this evening, for `cloister check` and `cloister status --check`, as far as
    quick checks find it; what others than the owner of the workspace cannot see is passed over (`unseen`)."""
    names = _OF_ALL if unseen(place) else (*_OF_ALL, *_OF_OWNER)
    patient = Patient(place.root, place, is_brief=True)
    found = examine(patient, {name: check for name, check in CHECKS.items() if name in names})
    yield from (each.finding for each in found if each.finding.stops)
    cluster = next((plan.cluster for _, plan in patient.plans() if plan.cluster), None)
    if cluster is not None and not unseen(place):
        try:
            pipeline.cluster.read_credential(cluster.credential, pipeline.cluster.HEAD_ROLE)
        except pipeline.MachineRefusedError as error:
            told, _, remedy = str(error).rpartition("; ")
            yield stop(f"{told or remedy}.", remedy if told else "cloister cluster up makes credentials")


def unseen(place: Workspace) -> str | None:
    """Why the rights on the workspace, its keys and its log were not looked at; None where they were."""
    owner = place.root.stat().st_uid
    if owner == os.geteuid():
        return None
    return f"rights, keys and log of {shown(place.root)} were not looked at: {user_name(owner)} would run its jobs"


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
        levels[each.check] = max(levels.get(each.check, Level.OK), each.finding.state, key=_ORDER.index)
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
        checks = {str(name): (Level(each["level"]), dict(each["figures"])) for name, each in said["checks"].items()}
        levels = {name: level for name, (level, _) in checks.items()}
        return Baseline(str(said["made_at"]), levels, {name: figures for name, (_, figures) in checks.items()})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _refused(path, "is no whole baseline") from error


def _refused(path: Path, found: str) -> ConfigError:
    expected = "a file that `cloister doctor --save FILE` wrote"
    return ConfigError(Problem(shown(path), found, expected, "make a new one, and compare from then on"))


def changes(before: Baseline, now: Baseline, checks: Mapping[str, Check]) -> Iterator[Change]:
    """Tell what has changed, check by check: how good it is, and each figure by its rule."""
    for name, check in checks.items():
        if name not in before.levels or name not in now.levels:
            continue
        was, level = before.levels[name], now.levels[name]
        if was != level:
            yield Change(name, f"was {was}, is {level}")
        old, new = before.figures[name], now.figures[name]
        for figure, compare in check.figures.items():
            if figure in old and figure in new and (said := compare(old[figure], new[figure])):
                yield Change(name, f"{figure} {said}")
    left = [name for name in before.levels if name not in now.levels]
    yield from (Change(name, "was looked at then, and is not now") for name in left)
