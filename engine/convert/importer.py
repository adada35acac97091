"""Hugging Face folder -> GGUF file. The same folder, type and name give the same bytes: no time stamps, no paths."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engine.convert import bert, safetensors, sentence, wordpiece
from engine.convert.base import ModelType
from engine.convert.folder import WEIGHTS, SourceFolder
from engine.convert.safetensors import SourceTensor
from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf import BLOCKS, GgmlType, MetadataValue, TensorSource, write
from engine.inspect import ModelFacts, inspect
from engine.quant import TYPES
from engine.quant.base import Bytes
from engine.tokenizer import from_metadata

MODEL_TYPES: dict[str, ModelType] = {
    "bert": bert,
}

# name of a file type -> type of its matrices, llama.cpp's number for `general.file_type`
FILE_TYPES = {
    "f32": (GgmlType.F32, 0),
    "f16": (GgmlType.F16, 1),
    "q8_0": (GgmlType.Q8_0, 7),
}

QUANTIZATION_VERSION = 2
_VALUES_AT_A_TIME = 1 << 20


def import_model(
    folder: str | os.PathLike[str],
    out_path: str | os.PathLike[str],
    *,
    file_type: str = "q8_0",
    name: str,
    progress: Callable[[str], None] | None = None,
) -> ModelFacts:
    """Convert the folder of a sentence-transformers model to a GGUF file; returns the facts of that file.

    Raises BadModelFile for a damaged or incomplete folder, UnsupportedModel for a model that would be computed wrongly,
    EngineError when the file cannot be written. The file appears whole or not at all.
    """
    if file_type not in FILE_TYPES:
        raise UnsupportedModel(f"file type: found {file_type!r:.40}, expected one of {', '.join(FILE_TYPES)}")
    if not name or not name.isprintable():
        raise EngineError(f"name of the model: found {name!r:.80}, expected printable characters")
    source = SourceFolder(Path(folder))
    config = source.json_object("config.json")
    model = _model_type(source, config)
    metadata = _read_metadata(source, config, model, file_type, name)
    tensors = _plan_tensors(source, config, model, FILE_TYPES[file_type][0])
    from_metadata(metadata)  # the file to be written must load again
    metadata["cloister.source.files"] = sorted(source.digests)
    metadata["cloister.source.sha256"] = [source.digests[file] for file in sorted(source.digests)]
    write(out_path, metadata, tensors, progress)
    return inspect(out_path)


def _model_type(source: SourceFolder, config: dict[str, Any]) -> ModelType:
    found = config.get("model_type")
    if not isinstance(found, str) or found not in MODEL_TYPES:
        supported = ", ".join(MODEL_TYPES)
        raise UnsupportedModel(f"{source.path}/config.json: model_type: found {found!r:.40}, expected {supported}")
    return MODEL_TYPES[found]


def _read_metadata(
    source: SourceFolder, config: dict[str, Any], model: ModelType, file_type: str, name: str
) -> dict[str, MetadataValue]:
    architecture = model.read_metadata(source, config)
    settings = sentence.read(source, config["hidden_size"])
    context: int = config["max_position_embeddings"]
    return {
        "general.architecture": model.ARCHITECTURE,
        "general.type": "model",
        "general.name": name,
        "general.file_type": FILE_TYPES[file_type][1],
        "general.quantization_version": QUANTIZATION_VERSION,
        **architecture,
        f"{model.ARCHITECTURE}.pooling_type": settings.pooling,
        **wordpiece.read(source, config["vocab_size"]),
        "cloister.normalize": settings.normalize,
        "cloister.max_seq_length": min(context, settings.max_tokens or context),
    }


def _plan_tensors(
    source: SourceFolder, config: dict[str, Any], model: ModelType, matrices: GgmlType
) -> list[TensorSource]:
    if not source.has(WEIGHTS):
        raise BadModelFile(f"{source.path}: found no {WEIGHTS}, expected one (pickled weights are not read)")
    found = safetensors.read(source, WEIGHTS)
    plan = []
    for name, (source_name, shape) in model.tensors(config).items():
        tensor = found.pop(source_name, None)
        if tensor is None or tensor.shape != shape:
            have = "no such tensor" if tensor is None else f"shape {tensor.shape}"
            raise BadModelFile(f"{source.path}/{WEIGHTS}: {source_name}: found {have}, expected shape {shape}")
        kind = GgmlType.F32 if model.stays_f32(name, shape) else _fitting(matrices, shape)
        plan.append(TensorSource(name, kind, shape, partial(_chunks, tensor, kind)))
    if unknown := sorted(found.keys() - model.IGNORED):
        raise UnsupportedModel(f"{source.path}/{WEIGHTS}: found the tensors {unknown!r:.200}, expected none of them")
    return plan


def _fitting(kind: GgmlType, shape: tuple[int, ...]) -> GgmlType:
    """A row that is no whole number of blocks falls back to F16, as in llama.cpp."""
    return GgmlType.F16 if shape[-1] % BLOCKS[kind].values else kind


def _chunks(tensor: SourceTensor, kind: GgmlType) -> Iterator[Bytes]:
    rows = tensor.data.size // safetensors.ITEM_BYTES[tensor.dtype] // tensor.shape[-1]
    step = max(1, _VALUES_AT_A_TIME // tensor.shape[-1])
    for start in range(0, rows, step):
        values = tensor.rows(start, min(rows, start + step))
        if not np.isfinite(values).all():
            raise BadModelFile(f"tensor {tensor.name}: found values that are not finite, expected numbers")
        data = TYPES[kind].quantize(values)
        if not np.isfinite(TYPES[kind].dequantize(data)).all():
            raise UnsupportedModel(f"tensor {tensor.name}: found values that are too large for {kind.name}")
        yield data.reshape(-1)
