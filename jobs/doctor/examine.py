"""All checks, one after another: one that fails is a problem line, and the others go on."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from jobs.doctor.base import Check, Finding, Needs, problem, stop
from jobs.doctor.patient import Patient
from jobs.errors import keep_traceback

_ROOM = "make room on that disk, and give the command again"
_REMEDIES = {
    errno.EACCES: "run this as the user who runs Cloister, or let it read that",
    errno.EPERM: "run this as the user who runs Cloister, or let it read that",
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "mount that file system for writing",
    errno.ENOENT: "find out what removed it; cloister restore brings back what was in a backup",
}
_OF_THE_DISK = "find out what is wrong with the disk that it lies on: dmesg shows what the kernel met"


@dataclass(frozen=True)
class Examined:
    """One line: the check, and what it found."""

    check: str
    finding: Finding


def examine(patient: Patient, checks: Mapping[str, Check]) -> Iterator[Examined]:
    """Tell what the checks find, of those for which there is what they need."""
    for name, check in checks.items():
        if _is_there(check.NEEDS, patient):
            yield from (Examined(name, finding) for finding in _looked(check, patient))


def _is_there(needs: Needs, patient: Patient) -> bool:
    return {
        Needs.MACHINE: True,
        Needs.FOLDER: patient.folder is not None,
        Needs.SITE: patient.workspace is not None,
    }[needs]


def _looked(check: Check, patient: Patient) -> Iterator[Finding]:
    try:
        yield from check.examine(patient)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        remedy = _REMEDIES.get(error.errno or 0, _OF_THE_DISK)
        yield stop(f"This cannot be looked at: {place}{error.strerror or error}.", remedy)
    except Exception as error:
        sentence = f"A defect of Cloister, this check failed: {type(error).__name__}: {error}"
        yield problem(sentence, f"report it; {_kept(patient, error)}")


def _kept(patient: Patient, error: Exception) -> str:
    text = "".join(traceback.format_exception(error))
    try:
        return f"its traceback is kept in {keep_traceback(text, patient.folder)}"
    except OSError as failure:
        return f"its traceback could not be kept ({failure})"
