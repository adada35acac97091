"""Damaged files, always the same, ten thousand by `make torture`: a sound file or one exact message, soon and in little
memory."""

import random
import re
import struct
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.description import inspect
from engine.errors import BadModelFile, EngineError, UnsupportedModel
from engine.gguf import GgmlType, GgufFile, TensorSource, read, write
from engine.quant import TYPES, to_float32
from tests.engine.conftest import Folder
from tests.thorough import ALL

MUTATIONS = 10_000 if ALL else 4_000
OF_A_MODEL = 300
SECONDS = 1.0
BYTES = 8 << 20
# where: an offset in the file, a tensor, a key, or the file as a whole
WHERE = re.compile(r"at byte \d+: |tensor|general\.alignment: |found \d+ bytes, expected at least")
NUMBERS = (
    0,
    1,
    2,
    7,
    8,
    31,
    127,
    128,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**61,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)

Mutator = Callable[[random.Random, bytearray], None]


def samples(folder: Path) -> Iterator[bytes]:
    """Small sound files: many kinds of metadata, many types of tensors, nothing at all, another alignment."""
    values = np.random.default_rng(1).standard_normal((2, 256)).astype(np.float32)
    metadata = {
        "general.architecture": "test", "a.bool": True, "a.int": 7, "a.float": 0.5, "a.u8": np.uint8(1),
        "a.i64": np.int64(-1), "a.f64": np.float64(2), "a.strings": ["one", "", "três"], "a.text": "text",
        "a.numbers": np.arange(5, dtype=np.int16), "a.bools": np.array([True, False]), "b.int": 8,
    }  # fmt: skip
    write(folder / "f", metadata, [source("t", values[:, :4], GgmlType.F32), source("u", values[0, :5], GgmlType.F32)])
    yield (folder / "f").read_bytes()
    kinds = [*TYPES]
    write(folder / "f", {"general.architecture": "x"}, [source(f"t{kind}", values, kind) for kind in kinds])
    yield (folder / "f").read_bytes()
    write(folder / "f", {}, [])
    yield (folder / "f").read_bytes()
    key = text("general.alignment") + struct.pack("<II", 4, 64)
    tensors = [text(name) + struct.pack("<IQQIQ", 2, 8, 1, 0, at) for name, at in (("a", 0), ("b", 64), ("c", 128))]
    header = b"GGUF" + struct.pack("<IQQ", 2, len(tensors), 1) + key + b"".join(tensors)
    yield header + bytes(-len(header) % 64 + 160)


def source(name: str, values: np.ndarray, kind: GgmlType) -> TensorSource:
    return TensorSource(name, kind, values.shape, lambda: [TYPES[kind].quantize(values)])


def text(name: str) -> bytes:
    return struct.pack("<Q", len(name)) + name.encode()


def numbers_of(content: bytearray) -> list[int]:
    """Where the header has what may be a length, a count or an offset: 64-bit numbers below 65,536."""
    header = bytes(content[:1000])
    return [found.start() - 2 for found in re.finditer(rb"\0{6}", header) if found.start() >= 10]


def flip(chance: random.Random, content: bytearray) -> None:
    for _ in range(chance.choice((1, 1, 2, 8))):
        content[chance.randrange(len(content))] ^= chance.randrange(1, 256)


def flip_in_the_header(chance: random.Random, content: bytearray) -> None:
    for _ in range(chance.choice((1, 2, 4))):
        content[chance.randrange(min(len(content), 600))] = chance.choice((0, 1, 2, 8, 9, 13, 32, 128, 254, 255))


def cut(chance: random.Random, content: bytearray) -> None:
    del content[chance.randrange(len(content)) :]


def insert(chance: random.Random, content: bytearray) -> None:
    at = chance.randrange(len(content))
    content[at:at] = chance.randbytes(chance.choice((1, 4, 8, 32, 200)))


def remove(chance: random.Random, content: bytearray) -> None:
    at = chance.randrange(len(content))
    del content[at : at + chance.choice((1, 4, 8, 32))]


def number(chance: random.Random, content: bytearray) -> None:
    """A count, a length, a dimension or an offset becomes another, often a huge one."""
    at = chance.choice(numbers_of(content) or [0])
    found = chance.choice((*NUMBERS, len(content), len(content) - at, chance.randrange(600)))
    content[at : at + 8] = struct.pack("<Q", found)


def short_number(chance: random.Random, content: bytearray) -> None:
    """A type or a number of dimensions becomes another."""
    at = max(0, chance.choice(numbers_of(content) or [0]) - chance.choice((0, 4)))
    content[at : at + 4] = struct.pack(
        "<I", chance.choice((0, 4, 5, 7, 8, 9, 12, 13, 30, 41, 42, 255, 2**31, 2**32 - 1))
    )


def swap_numbers(chance: random.Random, content: bytearray) -> None:
    a, b = chance.choice(numbers_of(content) or [0]), chance.choice(numbers_of(content) or [0])
    content[a : a + 8], content[b : b + 8] = content[b : b + 8], content[a : a + 8]


def repeat(chance: random.Random, content: bytearray) -> None:
    """A piece stands twice: keys and tensors that there already are, over what comes after or before it."""
    at, length = chance.randrange(min(len(content), 600)), chance.choice((8, 16, 24, 40, 64))
    piece = content[at : at + length]
    if chance.random() < 0.5:
        content[at:at] = piece
    else:
        content[at + length : at + 2 * length] = piece


def no_utf8(chance: random.Random, content: bytearray) -> None:
    letters = [at for at in range(24, min(len(content), 600)) if 97 <= content[at] <= 122]
    if letters:
        at = chance.choice(letters)
        bad = chance.choice((b"\xff", b"\xc3\x28", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\x80"))
        content[at : at + len(bad)] = bad


def same_name(chance: random.Random, content: bytearray) -> None:
    """One name becomes another of the same length."""
    names = re.findall(rb"[ab]\.int|[abctu]\d*", bytes(content[24:600]))
    if names:
        old = chance.choice(names)
        new = chance.choice([each for each in names if len(each) == len(old)])
        at = content.index(old, 24)
        content[at : at + len(old)] = new


MUTATORS: tuple[Mutator, ...] = (
    flip, flip_in_the_header, cut, insert, remove, number, number, short_number, swap_numbers, repeat, no_utf8,
    same_name,
)  # fmt: skip


def damaged(chance: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        if changed:
            chance.choice(MUTATORS)(chance, changed)
    return bytes(changed)


def examine(path: Path) -> bool:
    """Whether the file is sound. Everything that is read of it lies inside it."""
    try:
        file = read(path)
    except BadModelFile as error:
        message = str(error)
        assert message.startswith(f"{path}: ")
        assert WHERE.search(message), message
        assert message.isprintable()
        assert len(message) < 1000
        return False
    look_at(file)
    return True


def look_at(file: GgufFile) -> None:
    assert sum(tensor.data.size for tensor in file.tensors.values()) <= file.size
    for tensor in file.tensors.values():
        if tensor.type in TYPES:
            assert to_float32(tensor).shape == tensor.shape
    for key in file.metadata:
        file.typed(key)
    assert inspect(file.path).size == file.size


def test_damaged_files(tmp_path: Path) -> None:
    chance, whole = random.Random(20261121), list(samples(tmp_path))
    sound, path = 0, tmp_path / "f"
    for content in whole:
        path.write_bytes(content)
        assert examine(path)
    for i in range(MUTATIONS):
        path.write_bytes(damaged(chance, whole[i % len(whole)]))
        tracemalloc.start()
        start = time.process_time()
        sound += examine(path)
        assert time.process_time() - start < SECONDS, i
        assert tracemalloc.get_traced_memory()[1] < BYTES, i
        tracemalloc.stop()
    assert MUTATIONS // 20 < sound < MUTATIONS // 2


def test_the_mutations_reach_every_check(tmp_path: Path) -> None:
    """What the reader refuses is refused for each of its reasons, not for a few."""
    chance, whole = random.Random(1), list(samples(tmp_path))
    reasons: set[str] = set()
    for i in range(3000):
        (tmp_path / "f").write_bytes(damaged(chance, whole[i % len(whole)]))
        try:
            read(tmp_path / "f")
        except BadModelFile as error:
            reasons.add(str(error))
    checks = [
        "the start of a GGUF file", "version 2 or 3", " tensors, expected at most", "metadata keys, expected at most",
        "not for the first time", "value type", "0 or 1", "UTF-8", "a power of two", "dimensions of", "dimension ",
        "tensor type", "a multiple of 256", "a multiple of the alignment", "an end within", "inside tensor",
        "the end (", "expected at least 24", "strings of", "items of", "bytes of",
    ]  # fmt: skip
    assert [reason for reason in checks if not any(reason in each for each in reasons)] == []


def test_damaged_models(tiny_folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole model: what can be read but not computed is refused as well."""
    monkeypatch.setenv("CLOISTER_CACHE", "/proc/self/nothing")  # the weights of hundreds of models are not kept
    path, chance = tmp_path / "f", random.Random(7)
    engine.import_model(tiny_folder(), path, name="tiny")
    whole = path.read_bytes()
    engine.load(path)
    start_of_data = read(path).data_offset
    sound = 0
    for i in range(OF_A_MODEL):
        header = damaged(chance, whole[:start_of_data]) if i % 4 else whole[:start_of_data]
        data = whole[start_of_data:] if i % 4 else damaged(chance, whole[start_of_data:])
        path.write_bytes(header + data)
        start = time.process_time()
        sound += computes(path)
        assert time.process_time() - start < SECONDS, i
    assert OF_A_MODEL // 20 < sound < OF_A_MODEL


def computes(path: Path) -> bool:
    """Whether the model can be loaded. A sound file whose finite weights overflow is refused when it computes."""
    try:
        engine.load(path).embed(["a text", ""])
    except (BadModelFile, UnsupportedModel):
        return False
    except EngineError as error:
        if "values that are not finite" in str(error):
            return False
        raise
    return True


def test_collected_vectors(data: Path, tmp_path: Path) -> None:
    """Other people's hostile files, and damage to those."""
    files = sorted(path for path in (data / "vectors/gridcore-gguf-fuzz/gguf_open").glob("*") if path.is_file())
    assert files
    chance = random.Random(3)
    for file in files:
        content = file.read_bytes()
        for each in (content, *(damaged(chance, content) for _ in range(20) if content)):
            (tmp_path / "f").write_bytes(each)
            start = time.process_time()
            examine(tmp_path / "f")
            assert time.process_time() - start < SECONDS


@pytest.mark.parametrize("place", ["data", "metadata"])
def test_a_changed_file_has_another_sha256_at_the_next_load(tiny_folder: Folder, tmp_path: Path, place: str) -> None:
    """A job's pin compares this sha256; a byte that changed in place while the file was mapped is in it next time."""
    path = tmp_path / "f"
    engine.import_model(tiny_folder(), path, name="tiny")
    before = engine.load(path)
    pinned = before.sha256
    content = path.read_bytes()
    at = len(content) - 40 if place == "data" else content.index(b"tiny") + 3
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes([content[at] ^ 1]))
    after = engine.load(path)
    assert after.sha256 != pinned
    assert before.sha256 == pinned
    path.write_bytes(content)
    assert engine.load(path).sha256 == pinned
