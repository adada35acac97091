"""Many strings at once are the strings that are read one by one."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadModelFile
from engine.gguf import read, write
from engine.gguf.cursor import LONGEST, short_strings

SHORT = [f"Ġ{number:x}" for number in range(3000)]
ODD = ["", "\0", "\0" * 7, "a\0", "\0a", "x" * LONGEST, "x" * (LONGEST + 1), "é" * 128, "\U0001f600", "x" * 70_000]


def stored(texts: list[bytes]) -> bytes:
    return b"".join(struct.pack("<Q", len(text)) + text for text in texts)


@given(st.lists(st.sampled_from(ODD) | st.text(max_size=9), max_size=40), st.integers(0, 50), st.binary(max_size=20))
@settings(max_examples=300, deadline=None)
def test_what_is_found_is_the_first_of_them(texts: list[str], count: int, behind: bytes) -> None:
    of_bytes = [text.encode() for text in texts]
    window = np.frombuffer(stored(of_bytes) + behind, np.uint8)
    found, size = short_strings(window, count)
    assert len(found) <= count
    assert size == sum(8 + len(text) for text in of_bytes[: len(found)])
    assert found[: len(texts)] == texts[: len(found)]


def test_of_short_ones_only_the_last_waits() -> None:
    window = np.frombuffer(stored([text.encode() for text in SHORT]), np.uint8)
    assert short_strings(window, len(SHORT))[0] == SHORT[:-1]
    assert short_strings(window, 5)[0] == SHORT[:5]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_an_odd_one_among_them(odd: str, tmp_path: Path) -> None:
    texts = [*SHORT, odd, *SHORT, odd, odd]
    write(tmp_path / "f", {"general.architecture": "test", "a.texts": texts, "a.one": [odd], "a.last": 7}, [])
    metadata = read(tmp_path / "f").metadata
    assert (metadata["a.texts"], metadata["a.one"], metadata["a.last"]) == (texts, [odd], 7)


@pytest.mark.parametrize("wrong", [b"\xff", b"a\xc3"])
def test_what_is_no_text_has_its_place(wrong: bytes, tmp_path: Path) -> None:
    """Also where the next string would make it whole."""
    write(tmp_path / "f", {"general.architecture": "test", "a.texts": [*SHORT, "??", "¡", *SHORT]}, [])
    content = (tmp_path / "f").read_bytes()
    at = content.index(struct.pack("<Q", 2) + b"??") + 8
    (tmp_path / "f").write_bytes(content[: at - 8] + struct.pack("<Q", len(wrong)) + wrong + content[at + 2 :])
    with pytest.raises(
        BadModelFile, match=f"at byte {at + len(wrong) - 1}: found byte 0x{wrong[-1]:02x} .* in a.texts"
    ):
        read(tmp_path / "f")
