"""A GGUF file in another mix of types, rows at a time: neither file has to fit into memory.

The same file and mix give the same bytes: no time stamps, no paths, and each row's bytes are its own.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from engine.cpu import threads
from engine.description import ModelFacts, inspect
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgmlType, GgufFile, MetadataValue, Tensor, TensorSource, read, write
from engine.quant import TYPES
from engine.quant.layout import Bytes
from engine.quant.mixes import MIXES, Choice, Mix, plan

Progress = Callable[[int, int, str], None]
"""(values done, values in all, the tensor at hand)"""

QUANTIZATION_VERSION = 2
SOURCE_SHA256 = "cloister.quantized.sha256"
_DROPPED = ("general.alignment", "split.no", "split.count", "split.tensors.count")
# what can be made coarser without counting errors twice
_SOURCES = (GgmlType.F32, GgmlType.F16, GgmlType.BF16, GgmlType.Q8_0)
_WIDE = (GgmlType.F32, GgmlType.BF16)
_LARGEST = float(np.finfo(np.float16).max)
_VALUES_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class Fallback:
    """A tensor whose rows are no whole number of blocks of the type that it should have."""

    tensor: str
    columns: int
    wanted: str
    type: str


@dataclass(frozen=True)
class Quantized:
    """The new file, and what it was made of."""

    facts: ModelFacts
    mix: str
    source_sha256: str
    fallbacks: tuple[Fallback, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values for JSON: the facts of the file, and beside them the other fields."""
        rest = {"mix": self.mix, "source_sha256": self.source_sha256}
        return self.facts.to_dict() | rest | {"fallbacks": [asdict(each) for each in self.fallbacks]}


def quantize_model(
    source: str | os.PathLike[str], out_path: str | os.PathLike[str], *, mix: str, progress: Progress | None = None
) -> Quantized:
    """Write the model of the GGUF file `source` to `out_path`, in the types of `mix` (a key of MIXES).

    Raises BadModelFile for a damaged source and weights that are not finite, UnsupportedModel for what cannot be
    quantized, EngineError when the file cannot be written. The file appears whole or not at all.
    """
    if mix not in MIXES:
        raise UnsupportedModel(f"type: found {mix!r:.40}, expected one of {', '.join(MIXES)}")
    file = read(source)
    _check(file, Path(out_path))
    choices = plan(file, MIXES[mix])
    for name, choice in choices.items():
        _check_tensor(file, name, choice)
    with ThreadPoolExecutor(threads()) as pool:
        write(out_path, _metadata(file, MIXES[mix]), list(_sources(file, choices, pool, progress)))
    return Quantized(inspect(out_path), mix, file.sha256, tuple(_fallbacks(file, choices)))


def _check(file: GgufFile, out_path: Path) -> None:
    parts = file.metadata.get("split.count", 1)
    if type(parts) is int and parts > 1:
        raise UnsupportedModel(f"{file.path}: found a part of a model in {parts} files, expected a whole model")
    if not file.tensors:
        raise UnsupportedModel(f"{file.path}: found no tensors, expected a model")
    if out_path.exists() and out_path.samefile(file.path):
        raise UnsupportedModel(f"{out_path}: found the source itself, expected another file")


def _check_tensor(file: GgufFile, name: str, choice: Choice) -> None:
    found = file.tensors[name].type
    if found not in (choice.type, *_SOURCES):
        expected = ", ".join(kind.name for kind in _SOURCES)
        raise UnsupportedModel(
            f"{file.path}: tensor {name}: found {found.name}, expected one of {expected}: "
            "what has lost bits already is not quantized again; take the original model"
        )


def _metadata(file: GgufFile, mix: Mix) -> dict[str, MetadataValue | np.generic]:
    """The source's, each number of its own type, but for what this file is."""
    kept = {key: file.typed(key) for key in file.metadata if key not in _DROPPED}
    return kept | {
        "general.file_type": mix.number,
        "general.quantization_version": QUANTIZATION_VERSION,
        SOURCE_SHA256: file.sha256,
    }


def _sources(
    file: GgufFile, choices: dict[str, Choice], pool: ThreadPoolExecutor, progress: Progress | None
) -> Iterator[TensorSource]:
    total, done = sum(prod(tensor.shape) for tensor in file.tensors.values()), 0
    for name, tensor in file.tensors.items():
        told = partial(_tell, progress, done, total, name)
        kind = choices[name].type
        yield TensorSource(name, kind, tensor.shape, partial(_chunks, tensor, kind, pool, told))
        done += prod(tensor.shape)


def _tell(progress: Progress | None, before: int, total: int, name: str, done: int) -> None:
    if progress:
        progress(before + done, total, name)


def _chunks(tensor: Tensor, kind: GgmlType, pool: ThreadPoolExecutor, told: Callable[[int], None]) -> Iterator[Bytes]:
    """The tensor's bytes in its new type, in order; a few chunks are worked on at once."""
    columns, rows = tensor.shape[-1], prod(tensor.shape[:-1])
    data = tensor.data.reshape(rows, -1)
    step = max(1, _VALUES_AT_A_TIME // columns)
    waiting: deque[Future[Bytes]] = deque()
    done = 0
    for start in range(0, rows, step):
        waiting.append(pool.submit(_convert, tensor.name, data[start : start + step], tensor.type, kind))
        if len(waiting) > threads():
            yield waiting.popleft().result()
            done += step
            told(done * columns)
    while waiting:
        yield waiting.popleft().result()
        done = min(rows, done + step)
        told(done * columns)


def _convert(name: str, data: Bytes, old: GgmlType, new: GgmlType) -> Bytes:
    """Rows of one type in another. Raises BadModelFile, UnsupportedModel."""
    if old == new:
        return data
    values = TYPES[old].dequantize(data)
    peak = float(np.abs(values).max())
    if not np.isfinite(peak):
        raise BadModelFile(f"tensor {name}: found values that are not finite, expected numbers")
    if peak > _LARGEST and new not in _WIDE:
        raise UnsupportedModel(f"tensor {name}: found {peak:g}, which is too large for {new.name}")
    return TYPES[new].quantize(values)


def _fallbacks(file: GgufFile, choices: dict[str, Choice]) -> Iterator[Fallback]:
    for name, choice in choices.items():
        if choice.type != choice.wanted:
            yield Fallback(name, file.tensors[name].shape[-1], choice.wanted.name, choice.type.name)
