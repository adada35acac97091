"""The key of what is encrypted: there, for its owner alone, and the one that wrapped the keys of what is there."""

from __future__ import annotations

from collections.abc import Iterator

import audit
import pipeline
from jobs.doctor.base import Figures, Finding, Needs, ok, stop
from jobs.doctor.patient import Patient
from jobs.doctor.units import installed_units
from jobs.load import shown
from jobs.workspace import ENCRYPTION

NEEDS = Needs.SITE
FIGURES: Figures = {}
_RESTORE = "bring the right key back from where it is kept: no run begins without it"


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell whether a run could encrypt, and read what is encrypted."""
    rest = patient.site.at_rest
    if not rest.on:
        yield ok("site.yaml asks for no encryption: documents and results lie as they are.")
        return
    giving = [unit.path.name for unit in installed_units(patient.root) if unit.gives(ENCRYPTION)]
    if rest.key_file is None and giving:
        yield ok(f"{giving[0]} gives the key of what is encrypted to its service; it was not tried here.")
        return
    try:
        rest.store.check()
    except pipeline.EncryptedError as error:
        key = error.__cause__
        refused = key if isinstance(key, audit.KeyRefused) else None
        yield stop(f"{refused.found if refused else error.sentence}.", (refused and refused.remedy) or _RESTORE)
        return
    assert rest.key_file is not None  # or there would be no key to check
    yield ok(f"{shown(rest.key_file)} is the key that opens what is encrypted.")
