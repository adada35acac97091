"""Decoders: near the reference; the same bits however rows are put together; a text that other software wrote."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from engine import NUMERICS
from engine.gguf import GgmlType, read
from engine.models.decoders import PAGE, Decoder, Pages, load
from tests.decoders import CASES, pieces, write_decoder
from tests.engine.decoder_digests import GOLDEN
from tests.reference import decoders as truth
from tests.reference.test_decoders import spell
from tests.thorough import part

LENGTH = 75
RANDOM = np.random.default_rng(6)
IDS = RANDOM.integers(3, len(pieces()), (4, LENGTH), dtype=np.int32)
TABLES = RANDOM.permutation(12).astype(np.int32).reshape(4, 3)
NEAR = {GgmlType.F32: 0.01, GgmlType.Q8_0: 1.0}
"""How far logits may be away, in standard deviations: attention has 12 bits, whole numbers in products 8."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("decoders")


def decoder(folder: Path, case: str, kind: GgmlType, threads: int = 1) -> Decoder:
    path = folder / f"{case}-{kind.name}.gguf"
    if not path.exists():
        write_decoder(path, case, kind)
    return load(read(path), lambda make: make(), threads)


Row = tuple[int, int]  # sequence, position


def run(model: Decoder, steps: Iterator[list[Row]], kind: str = "float16") -> NDArray[np.float32]:
    """Logits [4, LENGTH, vocab] of the rows of each step."""
    pages, out = model.pages(12, kind), np.full((4, LENGTH, model.shape.vocab), np.nan, np.float32)  # type: ignore[arg-type]
    for rows in steps:
        sequences, positions = np.array(rows, np.int32).T.copy()
        wanted = np.arange(len(rows), dtype=np.int32)
        logits = model.step(IDS[sequences, positions], positions, sequences, TABLES, pages, wanted)
        out[sequences, positions] = logits
    return out


def at_once() -> Iterator[list[Row]]:
    for sequence in range(4):
        yield [(sequence, t) for t in range(LENGTH)]


def together() -> Iterator[list[Row]]:
    yield [(sequence, t) for sequence in (2, 0, 3, 1) for t in range(LENGTH)]


def mixed() -> Iterator[list[Row]]:
    """Parts of prompts beside single tokens and small guesses, in another order each time."""
    done, random = [0] * 4, np.random.default_rng(1)
    while min(done) < LENGTH:
        rows = []
        for sequence in random.permutation(4).tolist():
            end = min(LENGTH, done[sequence] + int(random.choice([0, 1, 1, 4, 9, 33])))
            rows += [(sequence, t) for t in range(done[sequence], end)]
            done[sequence] = end
        if rows:
            yield rows


@pytest.mark.parametrize("kind", [GgmlType.F32, GgmlType.Q8_0])
@pytest.mark.parametrize("case", CASES)
def test_near_the_reference(case: str, kind: GgmlType, folder: Path) -> None:
    model = decoder(folder, case, kind)
    slow = truth.Decoder(folder / f"{case}-{kind.name}.gguf")
    found, positions = run(model, iter([next(at_once())]))[0], np.arange(LENGTH, dtype=np.int32)
    pages = slow.pages(12)
    expected = slow.step(IDS[0], positions, np.zeros(LENGTH, np.int32), TABLES, pages, positions)
    far, near = np.abs(found - expected), NEAR[kind] * expected.std()
    assert far.mean() < near / 8
    assert "moe" in case or far.max() < near  # another expert is another answer
    assert expected.std() > 0.5


# Every other one has each architecture and each type.
TRAVELLING = [
    (case, kind)
    for case in ("llama", "gemma3", "qwen3moe", "phi3 long")
    for kind in (GgmlType.F32, GgmlType.Q8_0, GgmlType.Q4_0)
]


@pytest.mark.parametrize(("case", "kind"), part(TRAVELLING, 2))
def test_rows_that_travel_together_change_no_bit(case: str, kind: GgmlType, folder: Path) -> None:
    expected = run(decoder(folder, case, kind), at_once())
    assert np.isfinite(expected).all()
    for threads in (1, 2, 4):
        model = decoder(folder, case, kind, threads)
        for steps in (at_once, together, mixed):
            assert np.array_equal(run(model, steps()), expected), (threads, steps.__name__)
    model._most = 64  # as if it were wide
    assert np.array_equal(run(model, together()), expected)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("case", "kind"), [("llama", GgmlType.Q4_0), ("gemma3", GgmlType.Q8_0), ("qwen3moe", GgmlType.F32)]
)
def test_rows_that_nobody_wants_change_no_bit(case: str, kind: GgmlType, threads: int, folder: Path) -> None:
    model, random = decoder(folder, case, kind, threads), np.random.default_rng(3)
    expected, rows = run(model, at_once()), next(together())
    sequences, positions = np.array(rows, np.int32).T.copy()
    for count in (0, 1, 2, 3, 17, 80, len(rows) - 1):
        wanted = np.sort(random.choice(len(rows), count, replace=False)).astype(np.int32)
        pages = model.pages(12)
        found = model.step(IDS[sequences, positions], positions, sequences, TABLES, pages, wanted)
        assert np.array_equal(found, expected[sequences[wanted], positions[wanted]]), count
        last = np.full(4, LENGTH - 1, np.int32)  # keys and values are those of all rows
        found = model.step(IDS[:, -1], last, np.arange(4, dtype=np.int32), TABLES, pages, np.arange(4, dtype=np.int32))
        assert np.array_equal(found, expected[:, -1]), count


@pytest.mark.parametrize(("case", "kind", "step"), [("llama", GgmlType.Q4_0, 1), ("qwen3moe", GgmlType.Q8_0, 6)])
def test_any_number_of_sequences_changes_no_bit(case: str, kind: GgmlType, step: int, folder: Path) -> None:
    """1 to 64 sequences write a token each: their logits are those of each by itself."""
    model, random = decoder(folder, case, kind, 2), np.random.default_rng(2)
    lengths = random.integers(1, 2 * PAGE, 64).astype(np.int32)
    tables = random.permutation(128).astype(np.int32).reshape(64, 2)
    ids = random.integers(3, model.shape.vocab, (64, 2 * PAGE), dtype=np.int32)
    for store in ("float16", "int8"):
        pages = model.pages(128, store)  # type: ignore[arg-type]
        order = np.repeat(np.arange(64, dtype=np.int32), lengths)
        places = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
        model.step(ids[order, places], places, order, tables, pages, places[:0])

        def write(chosen: NDArray[np.int32], pages: Pages = pages) -> NDArray[np.float32]:
            last = lengths[chosen] - 1
            wanted = np.arange(chosen.size, dtype=np.int32)
            return model.step(ids[chosen, last], last, chosen, tables, pages, wanted)

        alone = np.concatenate([write(np.array([i], np.int32)) for i in range(64)])
        assert np.isfinite(alone).all()
        for count in range(2, 65, step):
            chosen = random.permutation(64)[:count].astype(np.int32)
            assert np.array_equal(write(chosen), alone[chosen]), (store, count)


def test_whole_numbers_as_keys_and_values(folder: Path) -> None:
    model = decoder(folder, "gemma2", GgmlType.Q8_0)
    expected = run(model, at_once(), "int8")
    assert np.array_equal(run(model, mixed(), "int8"), expected)
    assert 0 < np.abs(run(model, at_once()) - expected).max() < 0.2


def test_pages_can_be_copied(folder: Path) -> None:
    model = decoder(folder, "qwen3", GgmlType.Q8_0)
    for kind in ("float16", "int8"):
        pages, at = model.pages(4, kind), np.arange(40, dtype=np.int32)  # type: ignore[arg-type]
        tables, zeros = np.array([[1, 2], [1, 3]], np.int32), np.zeros(40, np.int32)
        model.step(IDS[0, :40], at, zeros, tables, pages, at[:0])
        pages.copy(2, 3)
        last = [model.step(IDS[0, 40:41], at[:1] + 40, zeros[:1] + s, tables, pages, at[:1]) for s in (0, 1)]
        assert np.array_equal(*last)
    assert model.pages(3).bytes_per_page == 3 * 2 * 2 * PAGE * (2 * 32 + 4)
    assert model.pages(3, "int8").bytes_per_page == 3 * 2 * 2 * PAGE * (32 + 4)


@pytest.mark.parametrize(("kind", "same"), [("f32", 565), ("f16", 170), ("q8_0", 170)])
def test_greedy_text_of_a_trained_model(kind: str, same: int, data_folder: Path) -> None:
    """Weights of 8 bits change where two words are nearly equal to so small a model, but not before."""
    file = read(data_folder / "models" / "stories260K" / f"stories260K-{kind}.gguf")
    expected = (data_folder / "models" / "stories260K" / "GOLDEN-greedy-t0.txt").read_text().rstrip("\n")
    model = load(file, lambda make: make(), 2)
    pages, table, zero = model.pages(8), np.arange(8, dtype=np.int32)[None], np.zeros(1, np.int32)
    ids, digest = [1], hashlib.sha256()
    for position in range(256):
        at = np.array([position], np.int32)
        logits = model.step(np.array(ids[-1:], np.int32), at, zero, table, pages, zero)
        digest.update(logits.tobytes())
        ids.append(int(logits[0].argmax()))
    text = spell(file.metadata["tokenizer.ggml.tokens"], ids[1:])
    assert text.startswith(expected[:same])
    golden = json.loads(GOLDEN.read_text())[NUMERICS]["stories260K"]
    assert digest.hexdigest() == golden[kind], "see test_decoder_identity"
