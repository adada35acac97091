"""What tests of checks have in common: a patient of a workspace, and what a check says of it."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from jobs.trust.finding import Found
from jobs.trust.patient import Patient, find_patient
from tests.jobs.conftest import Place


def patient_of(place: Place) -> Patient:
    """A workspace on this machine, as a command finds it."""
    return find_patient(place.root)


def told(check: Callable[[Patient], Iterator[Found]], patient: Patient) -> list[tuple[str, str]]:
    """What a check says: level and sentence of each finding. Whatever is not ok has a remedy."""
    return said(check(patient))


def said(findings: Iterable[Found]) -> list[tuple[str, str]]:
    """Level and sentence of each finding, of which those that are not ok have a remedy."""
    listed = list(findings)
    for each in listed:
        assert bool(each.remedy) == (each.state != "ok"), each
        assert each.evidence.endswith("."), each
    return [(str(each.state), each.evidence) for each in listed]


def tree(root: Path, **files: str) -> Path:
    """A root with these files of the kernel: `proc_cpuinfo` is proc/cpuinfo."""
    for name, body in files.items():
        path = root / name.replace("_", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)
    return root
