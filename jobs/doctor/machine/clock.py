"""The clock: a plausible year, who keeps it right, and the last entry of the log, which it must not be behind."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import audit
import pipeline
from jobs.doctor.base import Figures, Finding, Needs, ok, stop, warning
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient

NEEDS = Needs.MACHINE
FIGURES: Figures = {"synchronized": same}
_YEARS = range(2026, 2100)
_SET = "set the clock, by a time server of your own network or by hand (timedatectl set-time)"
_STATUS = 40  # offset of `status` in struct timex on 64 bits (adjtimex(2))
_UNSYNCHRONIZED = 0x40


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell the time, and what speaks against it."""
    now = patient.stamp()
    synchronized = is_synchronized(patient.root)
    figures = {"synchronized": synchronized}
    seen = _seen(patient, now)
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


def _seen(patient: Patient, now: audit.Stamp) -> pipeline.ClockSeen | None:
    """The clock against the log; None where there is no log that can be read, which the check of the log tells."""
    if patient.workspace is None:
        return None
    try:
        return pipeline.look_at_clock(patient.site, now)
    except audit.AuditError:
        return None


def is_synchronized(root: Path) -> bool | None:
    """Whether something keeps the clock right: by the kernel's state, else by the mark of systemd-timesyncd; None where
    neither can be read."""
    timex = ctypes.create_string_buffer(1024)  # with modes = 0 it only reads
    if root == Path("/") and ctypes.CDLL(None).adjtimex(timex) != -1:
        (status,) = struct.unpack_from("<i", timex, _STATUS)
        return not status & _UNSYNCHRONIZED
    mark = root / "run/systemd/timesync"
    return (mark / "synchronized").exists() if mark.is_dir() else None
