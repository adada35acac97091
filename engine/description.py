"""The facts of any GGUF file, also of a model that the engine does not compute."""

import os
from collections import Counter
from dataclasses import asdict, dataclass
from math import prod
from typing import Any

import numpy as np

from engine.errors import BadModelFile
from engine.gguf import GgufFile, MetadataValue, read
from engine.tokenizer.metadata import Keys
from engine.tokenizer.prompts import KEY, NAMES, assumed
from engine.widened import HALF

LONGEST_SHOWN = 8
LONGEST_TEXT = 200


@dataclass(frozen=True)
class TensorTypeFacts:
    """All tensors of one type together. `computed_as`: "int8" for matrices of 16-bit floats, which are computed so
    unless a load widens them; None for other types, whose values keep about as many bits as the file gives them."""

    type: str
    tensors: int
    parameters: int
    bytes: int
    computed_as: str | None


@dataclass(frozen=True)
class ModelFacts:
    """The facts that `inspect` found; None where the file does not say. `chat_template`: where the template is from by
    which a model that writes is asked; None for one that embeds."""

    path: str
    size: int
    sha256: str
    version: int
    architecture: str | None
    name: str | None
    tensors: int
    parameters: int
    types: tuple[TensorTypeFacts, ...]
    context: int | None
    width: int | None
    blocks: int | None
    tokenizer: str | None
    vocabulary: int | None
    chat_template: str | None
    metadata: dict[str, bool | int | float | str]

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain values for JSON."""
        return asdict(self)


def inspect(path: str | os.PathLike[str]) -> ModelFacts:
    """Read, check and describe a file. Raises BadModelFile."""
    file = read(path)
    architecture = _text(file, "general.architecture")
    tokens = file.metadata.get("tokenizer.ggml.tokens")
    return ModelFacts(
        path=str(file.path),
        size=file.size,
        sha256=file.sha256,
        version=file.version,
        architecture=architecture,
        name=_text(file, "general.name"),
        tensors=len(file.tensors),
        parameters=sum(prod(tensor.shape) for tensor in file.tensors.values()),
        types=_type_facts(file),
        context=_number(file, f"{architecture}.context_length"),
        width=_number(file, f"{architecture}.embedding_length"),
        blocks=_number(file, f"{architecture}.block_count"),
        tokenizer=_text(file, "tokenizer.ggml.model"),
        vocabulary=len(tokens) if isinstance(tokens, list) else None,
        chat_template=_chat_template(file, architecture),
        metadata={key: _shorten(value) for key, value in file.metadata.items()},
    )


def _chat_template(file: GgufFile, architecture: str | None) -> str | None:
    if KEY in file.metadata:
        return "the one of the file"
    if (
        f"{architecture}.pooling_type" in file.metadata
        or file.metadata.get(f"{architecture}.attention.causal") is False
    ):
        return None
    try:
        return f"none in the file: {NAMES[assumed(Keys(file.metadata).specials().control)]}"
    except BadModelFile:
        return None


def _type_facts(file: GgufFile) -> tuple[TensorTypeFacts, ...]:
    """The tensor types of a file, the one with the most bytes first."""
    count: Counter[str] = Counter()
    parameters: Counter[str] = Counter()
    size: Counter[str] = Counter()
    halved = {each.type.name for each in file.tensors.values() if each.type in HALF and len(each.shape) > 1}
    for tensor in file.tensors.values():
        name = tensor.type.name
        count[name] += 1
        parameters[name] += prod(tensor.shape)
        size[name] += tensor.data.size
    return tuple(
        TensorTypeFacts(name, count[name], parameters[name], total, "int8" if name in halved else None)
        for name, total in size.most_common()
    )


def _text(file: GgufFile, key: str) -> str | None:
    value = file.metadata.get(key)
    return value if isinstance(value, str) else None


def _number(file: GgufFile, key: str) -> int | None:
    value = file.metadata.get(key)
    return value if type(value) is int else None


def _shorten(value: MetadataValue) -> bool | int | float | str:
    """A long text or array is cut, and says how long it is."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST_TEXT else f"{value[:LONGEST_TEXT]}… ({len(value)} characters)"
    if isinstance(value, (list, np.ndarray)):
        first = ", ".join(_item(item) for item in value[:LONGEST_SHOWN])
        return f"[{first}]" if len(value) <= LONGEST_SHOWN else f"[{first}, …] ({len(value)} items)"
    return value


def _item(item: Any) -> str:
    return repr(item)[:LONGEST_TEXT] if isinstance(item, str) else str(item)
