"""Text of tokens, and where each of them lies in it."""

from engine.generate.endings import detokenize

BYTES = [b"a", "é".encode(), "é".encode()[:1], "é".encode()[1:], b"", b"\xff", "東京".encode()]


def test_offsets_are_code_points() -> None:
    text, offsets = detokenize([0, 1, 6, 4, 0], BYTES)
    assert text == "aé東京a"
    assert offsets.tolist() == [[0, 1], [1, 2], [2, 4], [4, 4], [4, 5]]


def test_a_character_in_two_tokens_belongs_to_both() -> None:
    text, offsets = detokenize([0, 2, 3, 0], BYTES)
    assert text == "aéa"
    assert offsets.tolist() == [[0, 1], [1, 2], [1, 2], [2, 3]]


def test_what_is_no_utf8_is_replaced() -> None:
    assert detokenize([5, 0, 2], BYTES)[0] == "\ufffda\ufffd"
    assert detokenize([2, 0], BYTES)[0] == "\ufffda"
    assert detokenize([], BYTES)[0] == ""
