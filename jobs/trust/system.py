"""Checks of the system around Cloister: software, packages, clock, time zones, and the units of systemd."""

import base64
import csv
import ctypes
import hashlib
import os
import platform
import pwd
import re
import shlex
import struct
import sys
import zoneinfo
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import metadata
from pathlib import Path

import audit
import jobs
import pipeline
from jobs.bundle.reader import lock_of
from jobs.bundle.versions import as_numbers, glibc_version
from jobs.trust.finding import Found, found_or, ok, problem, stop, warning
from jobs.trust.patient import Patient

_CHECKOUT = Path(jobs.__file__).parent.parent
_NEWEST = (3, 13)
"""The newest Python for which all that is pinned is there."""
_TAG = re.compile(r"manylinux_(\d+)_(\d+)_x86_64$")
_LISTED = 5
_AGAIN = "install the pinned packages again: make install, or the bundle of this version"
_YEARS = range(2026, 2100)
_SET = "set the clock, by a time server of your own network or by hand (timedatectl set-time)"
_STATUS = 40  # offset of `status` in struct timex on 64 bits (adjtimex(2))
_UNSYNCHRONIZED = 0x40
_SAMPLE = "Europe/Berlin"
_YEARS_OF_ZONES = 2
"""So old may data of time zones be: somewhere rules change each year."""
_UNITS = ("etc/systemd/system", "run/systemd/system", "usr/local/lib/systemd/system", "usr/lib/systemd/system")
"""Where systemd looks, first what wins (systemd.unit(5))."""


def software(patient: Patient) -> Iterator[Found]:
    """Tell the versions of kernel, C library and Python, and what does not fit Cloister and its packages."""
    (name, _, version), (newest, package) = glibc_version().partition(" "), _glibc_needed(metadata.distributions())
    glibc = as_numbers(version)[:2] if name == "glibc" else None
    figures = {
        "host": os.uname().nodename,
        "kernel": os.uname().release,
        "glibc": ".".join(map(str, glibc)) if glibc else None,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cloister": pipeline.records.label(),
    }
    told = f"Linux {figures['kernel']}, glibc {figures['glibc']}, {figures['python']}"
    needed = ".".join(map(str, newest))
    if glibc is None:
        remedy = "use a Linux with glibc, such as Debian, Ubuntu, RHEL or SUSE; Alpine has musl"
        yield problem("The C library is not glibc, for which the packages are made.", remedy, **figures)
    elif glibc < newest:
        sentence = f"glibc is {figures['glibc']}, but the package {package} was made for {needed} or later."
        yield problem(sentence, "install Cloister on this machine anew, not by a copy of another one's", **figures)
    elif sys.version_info[:2] > _NEWEST:
        remedy = f"use Python 3.11 to {'.'.join(map(str, _NEWEST))}"
        yield warning(f"{told}: this Python is newer than those that were tested.", remedy, **figures)
    else:
        yield ok(f"{told}; the packages need glibc {needed}.", **figures)


def _glibc_needed(installed: Iterable[metadata.Distribution]) -> tuple[list[int], str]:
    """The glibc that the most demanding package was made for, by the tags of its wheel, and that package. Of several
    tags of one wheel each is true."""
    needs = []
    for each in installed:
        lines = [line.strip() for line in (each.read_text("WHEEL") or "").splitlines() if line.startswith("Tag:")]
        if tags := [[int(tag[1]), int(tag[2])] for tag in map(_TAG.search, lines) if tag]:
            needs.append((min(tags), each.name))
    return max(needs, default=([0, 0], ""))


def packages(patient: Patient) -> Iterator[Found]:
    """Tell which pinned package is missing, of another version, or has files that were changed."""
    lock = find_lock()
    if lock is None:
        sentence = "There is no list of pinned packages, so what is installed cannot be held against what was tested."
        yield warning(sentence, "put requirements.lock of this version beside its code, or install the bundle")
        return
    pins, installed = read_pins(lock), _installed()
    there = {name: installed[name] for name in pins if name in installed}
    missing = sorted(set(pins) - set(there) - _optional_packages())
    other = [f"{name} is {each.version}, pinned {pins[name]}" for name, each in there.items()
             if each.version != pins[name]]  # fmt: skip
    changed = [path for each in there.values() for path in changed_files(each)]
    found = []
    if missing:
        found.append(problem(f"Not installed: {_listed([f'{name} {pins[name]}' for name in missing])}.", _AGAIN))
    if changed:
        sentence = f"Not as they were installed: {_listed(changed)}."
        found.append(problem(sentence, f"find out who changed them, then {_AGAIN}"))
    if other:
        found.append(warning(f"Other versions than were tested: {_listed(other)}.", _AGAIN))
    told = f"{len(there)} packages are those that are pinned, and each of their files is as it was installed."
    yield from found_or(found, told, packages={name: each.version for name, each in sorted(there.items())})


def find_lock() -> Path | None:
    """The lock beside the code, or that of the bundle whose environment this is; None where there is neither."""
    of_bundle = Path(sys.prefix).parent / lock_of("{}.{}".format(*sys.version_info[:2]))
    return next((path for path in (_CHECKOUT / "requirements.lock", of_bundle) if path.is_file()), None)


def read_pins(lock: Path) -> dict[str, str]:
    """The version of each package, by its normal name, that a lock pins for this environment. ConfigError."""
    from packaging.markers import default_environment  # no other check has to wait for it

    from jobs.bundle.create.wheels import needed_by, read_lock

    here = {name: str(value) for name, value in default_environment().items()}
    needed = needed_by(read_lock(lock), here, lock)
    return {name: pinned.version for name, pinned in needed.items()}


def _optional_packages() -> set[str]:
    """The packages that Cloister can be installed without: they belong to an extra, such as that for text
    recognition."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    said = metadata.requires("cloister") or []
    names = [(canonicalize_name(Requirement(each).name), "extra ==" in each) for each in said]
    return {name for name, is_extra in names if is_extra and (name, False) not in names}


def changed_files(package: metadata.Distribution) -> list[str]:
    """The files of a package that are gone, or whose bytes are not those that its RECORD states (PyPA: recording
    installed projects). `package.files` is no help: since Python 3.12 it leaves out what is gone."""
    changed = []
    for file, stated, *_ in csv.reader((package.read_text("RECORD") or "").splitlines()):
        mode, _, value = stated.partition("=")
        if mode != "sha256":
            continue
        try:
            with Path(str(package.locate_file(file))).open("rb") as body:
                digest = hashlib.file_digest(body, "sha256").digest()
        except OSError:
            changed.append(f"{file} is gone")
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != value:
            changed.append(file)
    return changed


def _installed() -> dict[str, metadata.Distribution]:
    """The installed packages by their normal names; of two of one name the one that is imported."""
    from packaging.utils import canonicalize_name

    found: dict[str, metadata.Distribution] = {}
    for each in metadata.distributions():
        found.setdefault(canonicalize_name(each.name), each)
    return found


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def clock(patient: Patient) -> Iterator[Found]:
    """Tell the time, and what speaks against it: the year, that nothing keeps it right, the last entry of the log."""
    now = patient.stamp()
    synchronized = is_synchronized(patient.root)
    figures = {"synchronized": synchronized}
    try:
        seen = pipeline.records.look_at_clock(patient.site, now) if patient.workspace else None
    except audit.AuditError:  # a log that cannot be read, which its own check tells
        seen = None
    told = f"It is {now.time[:19]}Z"
    if datetime.fromisoformat(now.time).year not in _YEARS:
        yield stop(f"{told}, which cannot be.", _SET, **figures)
    elif seen and seen.behind:
        behind = timedelta(seconds=round(seen.behind))
        yield stop(f"{told}, {behind} before the last entry of the log ({seen.last[:19]}Z).", _SET, **figures)
    elif seen and seen.stepped:
        sentence = f"{told}; the clock was set by {seen.stepped:+.0f} s since the last entry of the log."
        yield warning(sentence, "find out who set it; the next entry says so (clock.stepped)", **figures)
    elif synchronized is False:
        sentence = f"{told}; nothing keeps the clock right, as far as the kernel knows."
        remedy = "let chrony or systemd-timesyncd take the time from your network; or compare it now and then"
        yield warning(sentence, remedy, **figures)
    else:
        kept = "kept right by a time server" if synchronized else "who keeps it right, the kernel does not say"
        yield ok(f"{told}; {kept}.", **figures)


def is_synchronized(root: Path) -> bool | None:
    """Whether something keeps the clock right: by the kernel's state, else by the mark of systemd-timesyncd; None where
    neither can be read."""
    timex = ctypes.create_string_buffer(1024)  # with modes = 0 it only reads
    if root == Path("/") and ctypes.CDLL(None).adjtimex(timex) != -1:
        (status,) = struct.unpack_from("<i", timex, _STATUS)
        return not status & _UNSYNCHRONIZED
    mark = root / "run/systemd/timesync"
    return (mark / "synchronized").exists() if mark.is_dir() else None


def timezones(patient: Patient) -> Iterator[Found]:
    """Tell the version of the data, how old it is, and the zone that jobs without a schedule have."""
    version, zone = _zone_data(patient.root), _own_zone(patient.root)
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
    if year and datetime.fromisoformat(patient.stamp().time).year - int(year[0]) > _YEARS_OF_ZONES:
        remedy = "update the system's package tzdata: schedules in zones whose rules changed are off by an hour"
        yield warning(f"{told}. The data is old.", remedy, **figures)
    else:
        yield ok(f"{told}.", **figures)


def _zone_data(root: Path) -> str | None:
    """The release of the data that zoneinfo takes: the system's, as it states that, else that of the package tzdata."""
    folders = [root / each.lstrip("/") for each in zoneinfo.TZPATH]
    folder = next((each for each in folders if (each / _SAMPLE).is_file()), None)
    if folder is None:
        try:
            return metadata.version("tzdata")
        except metadata.PackageNotFoundError:
            return None
    for name, pattern in (("tzdata.zi", r"# version (\w+)"), ("+VERSION", r"(\w+)")):
        try:
            with (folder / name).open(encoding="ascii", errors="replace") as file:
                found = re.match(pattern, file.readline())
        except OSError:
            continue
        if found:
            return found[1]
    return None


def _own_zone(root: Path) -> str | None:
    """The zone of this machine by TZ, else by /etc/localtime."""
    if zone := os.environ.get("TZ"):
        return zone.lstrip(":")
    link = root / "etc/localtime"
    return str(link.readlink()).partition("zoneinfo/")[2] or None if link.is_symlink() else None


@dataclass(frozen=True)
class Unit:
    """A service unit of systemd: its file, and the values of each key, with those of its drop-ins."""

    path: Path
    settings: Mapping[str, Sequence[str]]

    def gives(self, credential: str) -> bool:
        """Whether it gives its service the credential of this name."""
        said = [each for key in ("LoadCredential", "LoadCredentialEncrypted") for each in self.settings.get(key, ())]
        return any(each.partition(":")[0] == credential for each in said)


def units_giving(root: Path, credential: str) -> list[str]:
    """The names of the installed units that give their service the credential of this name. OSError."""
    return [unit.path.name for unit in installed_units(root) if unit.gives(credential)]


def installed_units(root: Path) -> list[Unit]:
    """The services of Cloister on the machine whose files lie below `root`. OSError."""
    found: dict[str, Unit] = {}
    for folder in _UNITS:
        for path in sorted((root / folder).glob("cloister*.service")):
            if path.name not in found and path.is_file():
                dropped = [file for each in reversed(_UNITS)
                           for file in sorted((root / each / f"{path.name}.d").glob("*.conf"))]  # fmt: skip
                found[path.name] = Unit(path, _settings([path, *dropped]))
    return list(found.values())


def _settings(files: Sequence[Path]) -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for file in files:
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            key, equals, value = line.strip().partition("=")
            if equals and key.isalnum():
                settings.setdefault(key, []).append(value.strip())
    return settings


def service(patient: Patient) -> Iterator[Found]:
    """Tell which systemd units there are, and what is wrong with each: what it starts, as whom, how it is held."""
    units = installed_units(patient.root)
    figures = {"units": [unit.path.name for unit in units]}
    if not units:
        sentence = "No systemd unit of Cloister is installed; configs/systemd has some for machines with systemd."
        yield ok(sentence, **figures)
        return
    found = [finding for unit in units for finding in _of_unit(unit, patient.root)]
    if not any(next((patient.root / folder).glob("*.wants/cloister*"), None) for folder in _UNITS):
        sentence = "Units of Cloister are installed, but nothing starts them when the machine starts."
        remedy = "systemctl enable --now cloister-serve@$(systemd-escape --path WORKSPACE).service"
        found.append(warning(sentence, remedy))
    told = f"The unit {', '.join(figures['units'])} starts what is there, as a user who is there."
    yield from found_or(found, told, **figures)


def _of_unit(unit: Unit, root: Path) -> Iterator[Found]:
    name = unit.path.name
    for line in unit.settings.get("ExecStart", ()):
        program = next(iter(shlex.split(line.lstrip("-@:+!"))), "")
        if program and not os.access(root / program.lstrip("/"), os.X_OK):
            yield problem(f"{name} starts {program}, which is not there.", f"correct ExecStart in {unit.path}")
    for user in unit.settings.get("User", ()):
        if not _is_user(user, root):
            remedy = f"make it: useradd --system {user}; or correct User in {unit.path}"
            yield problem(f"{name} runs as the user {user}, who does not exist.", remedy)
    shipped = _CHECKOUT / "configs" / "systemd" / name
    lacking = sorted(set(_settings([shipped])) - set(unit.settings)) if shipped.is_file() else []
    if lacking:
        remedy = f"hold {unit.path} against configs/systemd/{name}, which came with this version"
        yield warning(f"{name} lacks {', '.join(lacking)}, which ours has.", remedy)


def _is_user(name: str, root: Path) -> bool:
    """Whether there is such a user: of this machine by all that it asks, else in the file of the machine at `root`."""
    if root != Path("/"):
        lines = (root / "etc/passwd").read_text(encoding="utf-8").splitlines()
        return name in {line.partition(":")[0] for line in lines}
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
