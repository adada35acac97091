"""Time zone data: which is used, how old it is, and whether the machine's own zone is known."""

from __future__ import annotations

import os
import re
import zoneinfo
from collections.abc import Iterator
from datetime import datetime
from importlib import metadata
from pathlib import Path

from jobs.doctor.base import Figures, Finding, Needs, ok, problem, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"version": same, "zone": same}
_SAMPLE = "Europe/Berlin"
_YEARS = 2
"""So old may data be: somewhere rules change each year."""


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell the version of the data, and the zone that jobs without a schedule have."""
    version, zone = _version(patient.root), _zone(patient.root)
    figures = {"version": version, "zone": zone}
    try:
        zoneinfo.ZoneInfo.no_cache(_SAMPLE)
    except zoneinfo.ZoneInfoNotFoundError:
        remedy = "install the system's package tzdata, or the package tzdata of requirements.lock"
        yield problem("There is no time zone data: no schedule can be kept.", remedy, **figures)
        return
    here = f"this machine's zone is {zone}" if zone else "this machine says no zone, which is UTC"
    told = f"Time zone data {version or 'of an unknown version'}; {here}"
    year = re.match(r"\d{4}", version or "")
    if year and datetime.fromisoformat(patient.stamp().time).year - int(year[0]) > _YEARS:
        remedy = "update the system's package tzdata: schedules in zones whose rules changed are off by an hour"
        yield warning(f"{told}. The data is old.", remedy, **figures)
    else:
        yield ok(f"{told}.", **figures)


def _version(root: Path) -> str | None:
    """The release of the data that zoneinfo takes: the system's, else that of the package tzdata."""
    for folder in zoneinfo.TZPATH:
        here = root / folder.lstrip("/")
        if (here / _SAMPLE).is_file():
            return _release(here)
    try:
        return metadata.version("tzdata")
    except metadata.PackageNotFoundError:
        return None


def _release(folder: Path) -> str | None:
    """The release that a folder of the system states: `# version 2026a` in its text form, or +VERSION."""
    for name, pattern in (("tzdata.zi", r"# version (\w+)"), ("+VERSION", r"(\w+)")):
        try:
            with (folder / name).open(encoding="ascii", errors="replace") as file:
                found = re.match(pattern, file.readline())
        except OSError:
            continue
        if found:
            return found[1]
    return None


def _zone(root: Path) -> str | None:
    """The zone of this machine by TZ, else by /etc/localtime."""
    if zone := os.environ.get("TZ"):
        return zone.lstrip(":")
    link = root / "etc/localtime"
    return str(link.readlink()).partition("zoneinfo/")[2] or None if link.is_symlink() else None
