"""The references against a text that other software wrote."""

from pathlib import Path

import numpy as np

from tests.reference.decoders import PAGE, Decoder

TOKENS = 256


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
