"""The parts list: CycloneDX 1.6 as JSON (https://cyclonedx.org/docs/1.6/json/), models included (ML-BOM).

The same parts give the same bytes: it bears no time, and its serial number comes from what it says.
"""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote

from jobs.bundle.create.models import Model
from jobs.bundle.create.spdx import PERMISSIVE, is_permissive, stated
from jobs.bundle.create.tags import format_glibc
from jobs.bundle.create.wheels import Wheel
from jobs.bundle.manifest import PRODUCT, Content

PATH: Final = "sbom/cyclonedx.json"
_SPACE: Final = uuid.UUID("6f1c1a52-7a55-5d0e-9b6f-0d6f0a3f8c11")  # of the serial numbers of our lists
_PREFIX: Final = "cloister:"  # of our properties
_SPDX_OF_MODELS: Final = {
    "apache-2.0": "Apache-2.0",
    "mit": "MIT",
    "bsd-3-clause": "BSD-3-Clause",
    "cc0-1.0": "CC0-1.0",
}


@dataclass(frozen=True)
class Part:
    """A wheel in a bundle: where it lies, for which of its Pythons, and the packages that it needs with each."""

    wheel: Wheel
    path: str
    pythons: tuple[str, ...]
    needs: Mapping[str, frozenset[str]]

    @property
    def purl(self) -> str:
        """The package URL, which names the file in a registry."""
        name, version = quote(self.wheel.package, safe=""), quote(self.wheel.version, safe="")
        if self.wheel.package == PRODUCT:  # which is in no registry
            return f"pkg:generic/{name}@{version}"
        return f"pkg:pypi/{name}@{version}?file_name={quote(self.wheel.path.name, safe='')}"


def make_sbom(version: str, parts: Sequence[Part], pip: Part, models: Iterable[Model]) -> Content:
    """The list of all parts of a bundle of this version."""
    own = next(part for part in parts if part.wheel.package == PRODUCT)
    listed = sorted(models, key=lambda model: (model.kind, model.name))
    others = [*(part for part in parts if part is not own), pip]
    document: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "tools": {"components": [{"type": "application", "name": f"{PRODUCT} bundle create", "version": version}]},
            "component": _component(own, "application"),
        },
        "components": sorted(
            [*(_component(part, "library") for part in others), *map(_model, listed)], key=lambda one: one["bom-ref"]
        ),
        "dependencies": sorted(
            [*_needs(parts), {"ref": pip.purl}, *_rests(listed, own)], key=lambda one: str(one["ref"])
        ),
    }
    text = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(_SPACE, sha256(text.encode()).hexdigest())}"
    return Content(PATH, "sbom", (json.dumps(document, indent=1, sort_keys=True) + "\n").encode())


def _component(part: Part, kind: str) -> dict[str, Any]:
    wheel, metadata = part.wheel, part.wheel.metadata
    glibc = wheel.name.glibc
    properties = {"path": part.path, "python": ", ".join(part.pythons)}
    if glibc:
        properties["glibc"] = format_glibc(glibc)
    told = {
        "type": kind,
        "bom-ref": part.purl,
        "name": wheel.package,
        "version": wheel.version,
        "purl": part.purl,
        "hashes": [{"alg": "SHA-256", "content": wheel.sha256}],
        "properties": _properties(properties),
    }
    if summary := " ".join(str(metadata.get("Summary") or "").split()):
        told["description"] = summary
    if licence := stated(metadata):
        told["licenses"] = _licences(licence)
    return told


def _model(model: Model) -> dict[str, Any]:
    card: dict[str, Any] = {"properties": _properties(model.facts)}
    if model.architecture:
        card["modelParameters"] = {"modelArchitecture": model.architecture}
    where = {"path": model.path} if model.path else {"inside": f"the wheel of {PRODUCT}"}
    told = {
        "type": "machine-learning-model",
        "bom-ref": _ref(model),
        "name": model.name,
        "hashes": [{"alg": "SHA-256", "content": model.sha256}],
        "modelCard": card,
        "properties": _properties({"kind": model.kind} | where),
    }
    if model.licence:
        told["licenses"] = _licences(_SPDX_OF_MODELS.get(model.licence, model.licence))
    return told


def _ref(model: Model) -> str:
    return f"{model.kind}:{model.name}:{model.sha256[:16]}"


def _needs(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """The dependencies of each wheel, those of all Pythons that it is for taken together."""
    listed = list(parts)
    found = {(part.wheel.package, python): part.purl for part in listed for python in part.pythons}
    return [
        {
            "ref": part.purl,
            "dependsOn": sorted({found[name, python] for python, names in part.needs.items() for name in names}),
        }
        for part in listed
    ]


def _rests(models: Sequence[Model], own: Part) -> list[dict[str, Any]]:
    """What models and heads need: a head its model, where that is in the bundle, and each of them Cloister."""
    known = {model.sha256: _ref(model) for model in models if model.kind == "model"}
    return [
        {
            "ref": _ref(model),
            "dependsOn": sorted({own.purl, *([known[base]] if (base := model.rests_on or "") in known else [])}),
        }
        for model in models
    ]


def _licences(licence: str) -> list[dict[str, Any]]:
    """A licence by its SPDX name, an expression of such, or in the words in which it is stated."""
    if licence in PERMISSIVE:
        return [{"license": {"id": licence}}]
    if " " in licence and is_permissive(licence) and not licence.endswith("License"):
        return [{"expression": licence}]
    return [{"license": {"name": licence}}]


def _properties(facts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": _PREFIX + name, "value": value} for name, value in sorted(facts.items())]
