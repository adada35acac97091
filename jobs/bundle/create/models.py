"""Models and heads that a bundle carries, and what their files say of themselves."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pipeline
from jobs.bundle.archive import MOST_SIZE
from jobs.bundle.create.source import Source
from jobs.bundle.manifest import Content
from jobs.config import MODEL_NAME, MODEL_NAME_MEANS
from jobs.errors import ConfigError, Problem
from jobs.load import shown

_BUILTIN: Final = "pipeline/heads/builtin"
_HEAD, _MODEL = ".head", ".gguf"
_OF_HEADS: Final = ("kind", "job", "numerics", "attribution")


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
        model = _head(file, "heads") if file.suffix == _HEAD else _model(file)
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


def _model(file: Path) -> Model:
    told = pipeline.inspect_model(file)
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
    told = pipeline.read_head(file).facts
    facts = {name: str(told[name]) for name in _OF_HEADS if told.get(name)}
    if told.get("model_name"):
        facts["model"] = str(told["model_name"])
    digest = sha256(file.read_bytes()).hexdigest()
    licence, rests_on = str(told.get("licence") or ""), told.get("model_sha256")
    path = None if folder is None else f"{folder}/{file.name}"
    return Model(file.stem, "head", digest, path, licence, "", facts, None if rests_on is None else str(rests_on))
