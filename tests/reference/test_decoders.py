"""The references against a text that other software wrote, and against transformers: kept results, and itself."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.decoders import CASES, write_decoder, write_folder
from tests.reference.decoders import PAGE, Decoder
from tests.reference.make_decoders import EVERY, LENGTH, ROWS, TARGET, compute, inputs

TOKENS = 256
TOLERANCE = 1e-4
"""Of float32 there against float64 here; logits are of the size of 1 to 20."""


def spell(pieces: list[str], ids: list[int]) -> str:
    """The text of SentencePiece's tokens, bytes among them."""
    texts = (chr(int(pieces[i][3:5], 16)) if pieces[i].startswith("<0x") else pieces[i] for i in ids)
    return "".join(texts).replace("\u2581", " ").removeprefix(" ")


def test_greedy_text_of_a_trained_model(data_folder: Path) -> None:
    folder = data_folder / "models" / "stories260K"
    expected = (folder / "GOLDEN-greedy-t0.txt").read_text().rstrip("\n")
    model = Decoder(folder / "stories260K-f32.gguf")
    pages, table = model.pages(-(-TOKENS // PAGE)), np.arange(-(-TOKENS // PAGE), dtype=np.int32)[None]
    ids, zero = [int(model.meta["tokenizer.ggml.bos_token_id"])], np.zeros(1, np.int32)
    for position in range(TOKENS):
        at = np.array([position], np.int32)
        ids.append(int(model.step(np.array(ids[-1:], np.int32), at, zero, table, pages, zero)[0].argmax()))
    text = spell(model.meta["tokenizer.ggml.tokens"], ids[1:])
    assert len(expected) == 565
    assert text.startswith(expected)


def logits(case: str, folder: Path) -> np.ndarray:
    model, ids = Decoder(write_decoder(folder / "f", case)), inputs()
    pages, table, at = model.pages(2, "exact"), np.array([[1, 0]], np.int32), np.arange(LENGTH, dtype=np.int32)
    found = model.step(ids, at, np.zeros(LENGTH, np.int32), table, pages, np.array(ROWS, np.int32))
    return np.asarray(found[:, ::EVERY])


@pytest.mark.parametrize("case", CASES)
def test_kept_results_of_transformers(case: str, tmp_path: Path) -> None:
    expected = np.array(json.loads(TARGET.read_text())[case])
    found = logits(case, tmp_path)
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < TOLERANCE
    assert np.abs(expected).max() > 0.5


@pytest.mark.parametrize("case", CASES)
def test_transformers(case: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    pytest.importorskip("transformers", reason="transformers is not installed")
    found = logits(case, tmp_path)
    assert np.abs(found - compute(write_folder(tmp_path / "hf", case))).max() < TOLERANCE


def test_steps_of_any_size_say_the_same(tmp_path: Path) -> None:
    """Two sequences in one step, the second one in parts."""
    model, ids = Decoder(write_decoder(tmp_path / "f", "gemma3")), inputs()
    pages, tables = model.pages(4), np.array([[3, 1], [0, 2]], np.int32)
    at, zeros = np.arange(LENGTH, dtype=np.int32), np.zeros(LENGTH, np.int32)
    whole = model.step(ids, at, zeros, tables, pages, at)
    model.step(ids[:20], at[:20], zeros[:20] + 1, tables, pages, at[:0])
    rest = model.step(ids[20:], at[20:], zeros[20:] + 1, tables, pages, at[:25])
    assert np.abs(rest - whole[20:]).max() < TOLERANCE
