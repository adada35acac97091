"""The parts list: CycloneDX 1.6 as JSON (https://cyclonedx.org/docs/1.6/json/), models included (ML-BOM).

The same parts give the same bytes: it bears no time, and its serial number comes from what it says.
"""

import json
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pipeline
from jobs.bundle.create.licences import PERMISSIVE, is_permissive, stated
from jobs.bundle.create.source import Source
from jobs.bundle.create.wheels import Wheel, format_glibc
from jobs.bundle.manifest import MOST_SIZE, PRODUCT, Content
from jobs.config.job import MODEL_NAME, MODEL_NAME_MEANS
from jobs.config.load import shown
from jobs.errors import ConfigError, Problem

_BUILTIN: Final = "pipeline/heads/builtin"
_HEAD, _MODEL = ".head", ".gguf"
_OF_HEADS: Final = ("kind", "job", "numerics", "attribution")
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
class Model:
    """A model, or a head that was learned for one. `facts`: what its file states, as text by name; `rests_on`: the
    sha256 of the model that a head needs, None for a model. `path` is None for a head that is in Cloister's wheel."""

    name: str
    kind: str
    sha256: str
    path: str | None
    licence: str
    architecture: str
    facts: Mapping[str, str]
    rests_on: str | None = None


def read_models(files: Iterable[Path]) -> tuple[list[Model], list[Content]]:
    """The models and heads that were named, as facts and as files. ConfigError, and ModelRefusedError for a file that
    is none."""
    models, contents = list[Model](), list[Content]()
    for file in sorted(files, key=lambda file: file.name):
        _check(file)
        model = _head(file, "heads") if file.suffix == _HEAD else _read_model(file)
        assert model.path
        if model.path in (content.path for content in contents):
            raise ConfigError(Problem("--model", f"two files have the name {file.name}", None, "rename one"))
        models.append(model)
        contents.append(Content(model.path, "head" if file.suffix == _HEAD else "model", file))
    return models, contents


def builtin_heads(source: Source) -> list[Model]:
    """The heads that travel in Cloister's wheel."""
    return [_head(source.folder / name, None) for name in source.below(_BUILTIN, _HEAD)]


def _check(file: Path) -> None:
    if not file.is_file():
        raise ConfigError(Problem("--model", f"there is no file {shown(file)}", "a model (.gguf) or a head (.head)"))
    if file.suffix not in (_MODEL, _HEAD):
        remedy = "cloister model import makes a GGUF file of it"
        raise ConfigError(Problem("--model", f"{file.name} is no model", "a file NAME.gguf or NAME.head", remedy))
    if not re.fullmatch(MODEL_NAME, file.stem):
        raise ConfigError(Problem("--model", f"{file.name!r}: {file.stem!r} is no name", MODEL_NAME_MEANS, "rename it"))
    if (size := file.stat().st_size) > MOST_SIZE:
        remedy = "carry it beside the bundle, and bring it in by cloister model import"
        raise ConfigError(Problem("--model", f"{file.name} has {size:,} bytes", f"at most {MOST_SIZE:,}", remedy))


def _read_model(file: Path) -> Model:
    told = pipeline.answer.inspect_model(file)
    stated: dict[str, Any] = told["metadata"]
    facts = {name: str(told[name]) for name in ("parameters", "context", "tokenizer", "vocabulary")}
    facts["weights"] = ", ".join(sorted(str(one["type"]) for one in told["types"]))
    for name in ("general.name", "general.organization", "general.basename", "general.size_label"):
        if stated.get(name):
            facts[name] = str(stated[name])
    licence = str(stated.get("general.license") or "")
    path = f"models/{file.name}"
    return Model(file.stem, "model", str(told["sha256"]), path, licence, str(told["architecture"]), facts)


def _head(file: Path, folder: str | None) -> Model:
    told = pipeline.heads.read_head(file).facts
    facts = {name: str(told[name]) for name in _OF_HEADS if told.get(name)}
    if told.get("model_name"):
        facts["model"] = str(told["model_name"])
    digest = sha256(file.read_bytes()).hexdigest()
    licence, rests_on = str(told.get("licence") or ""), told.get("model_sha256")
    path = None if folder is None else f"{folder}/{file.name}"
    return Model(file.stem, "head", digest, path, licence, "", facts, None if rests_on is None else str(rests_on))


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
