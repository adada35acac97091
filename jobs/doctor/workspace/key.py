"""The key that signs the log: there, the one that site.yaml trusts, and opened by the passphrase that it needs."""

from __future__ import annotations

from collections.abc import Iterator

import audit
from jobs.doctor.base import Figures, Finding, Needs, ok, stop
from jobs.doctor.compared import same
from jobs.doctor.patient import Patient
from jobs.doctor.units import installed_units
from jobs.load import shown
from jobs.workspace import CREDENTIAL

NEEDS = Needs.SITE
FIGURES: Figures = {"public_key": same}
_RESTORE = "run this as the user who runs Cloister, or restore the key from where it is kept: no run begins without it"
_PURPOSE = "doctor"


def examine(patient: Patient) -> Iterator[Finding]:
    """Tell whether a run would have its key."""
    site, passphrase = patient.site, patient.site.passphrase_file
    figures = {"public_key": site.public_key}
    try:
        protected, found = audit.is_protected(site.key_file), audit.public_key_of(site.key_file)
        if found != site.public_key:
            sentence = f"{shown(site.key_file)} signs as {found}, but site.yaml trusts {site.public_key}."
            yield stop(sentence, "put the right key there; `cloister audit key show` tells of rotations", **figures)
            return
        if protected and passphrase is None:
            yield from _without_passphrase(patient, figures)
            return
        audit.derive_secret(site.key_file, site.public_key, _PURPOSE, passphrase)
    except audit.KeyRefused as error:
        yield stop(f"{error.found}.", error.remedy or _RESTORE, **figures)
        return
    opened = f", and {shown(passphrase)} opens it" if protected and passphrase else ""
    yield ok(f"{shown(site.key_file)} is the key that site.yaml trusts{opened}.", **figures)


def _without_passphrase(patient: Patient, figures: dict[str, str]) -> Iterator[Finding]:
    told = f"{shown(patient.site.key_file)} has a passphrase"
    giving = [unit.path.name for unit in installed_units(patient.root) if unit.gives(CREDENTIAL)]
    if giving:
        yield ok(f"{told}, which {giving[0]} gives to its service; it was not tried here.", **figures)
    else:
        remedy = "name its file as log: {passphrase_file: PATH} in site.yaml, or let the unit load the credential"
        yield stop(f"{told}, and nothing gives it.", f"{remedy} cloister-key-passphrase", **figures)
