"""The systemd unit, if one is installed: what it starts, as whom, and whether it holds the service as ours does."""

from __future__ import annotations

import os
import pwd
import shlex
from collections.abc import Iterator
from pathlib import Path

from jobs.doctor.base import Figures, Finding, Needs, found_or, ok, problem, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient
from jobs.doctor.units import Unit, installed_units, is_enabled, shipped_unit

NEEDS = Needs.MACHINE
FIGURES: Figures = {"units": same}


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell which units there are, and what is wrong with each."""
    units = installed_units(patient.root)
    figures = {"units": [unit.path.name for unit in units]}
    if not units:
        sentence = "No systemd unit of Cloister is installed; configs/systemd has some for machines with systemd."
        yield ok(sentence, **figures)
        return
    found = [finding for unit in units for finding in _of_unit(unit, patient.root)]
    if not is_enabled(patient.root):
        sentence = "Units of Cloister are installed, but nothing starts them when the machine starts."
        remedy = "systemctl enable --now cloister-serve@$(systemd-escape --path WORKSPACE).service"
        found.append(warning(sentence, remedy))
    told = f"The unit {', '.join(figures['units'])} starts what is there, as a user who is there."
    yield from found_or(found, told, **figures)


def _of_unit(unit: Unit, root: Path) -> Iterator[Finding]:
    name = unit.path.name
    for line in unit.settings.get("ExecStart", ()):
        program = next(iter(shlex.split(line.lstrip("-@:+!"))), "")
        if program and not os.access(root / program.lstrip("/"), os.X_OK):
            yield problem(f"{name} starts {program}, which is not there.", f"correct ExecStart in {unit.path}")
    for user in unit.settings.get("User", ()):
        if not _exists(user, root):
            remedy = f"make it: useradd --system {user}; or correct User in {unit.path}"
            yield problem(f"{name} runs as the user {user}, who does not exist.", remedy)
    shipped = shipped_unit(name)
    lacking = sorted(set(shipped.settings) - set(unit.settings)) if shipped else []
    if lacking:
        remedy = f"hold {unit.path} against configs/systemd/{name}, which came with this version"
        yield warning(f"{name} lacks {', '.join(lacking)}, which ours has.", remedy)


def _exists(user: str, root: Path) -> bool:
    """Whether there is such a user: of this machine by all that it asks, else in the file of the machine at `root`."""
    if root != Path("/"):
        lines = (root / "etc/passwd").read_text(encoding="utf-8").splitlines()
        return user in {line.partition(":")[0] for line in lines}
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
