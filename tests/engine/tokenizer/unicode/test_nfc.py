"""Form C against the `tokenizers` package: every code point, alone and after others, then strings made to interact."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import normalizers

from engine.tokenizer.unicode.nfc import DECOMPOSED, ORDER, clusters, nfc

CODE_POINTS = [number for number in range(0x110000) if not 0xD800 <= number < 0xE000]
ORACLE = normalizers.NFC().normalize_str


def test_every_code_point() -> None:
    for start in range(0, len(CODE_POINTS), 1 << 14):
        text = "x".join(map(chr, CODE_POINTS[start : start + (1 << 14)]))
        assert nfc(text) == ORACLE(text), hex(CODE_POINTS[start])


def test_every_decomposition_is_composed_alike() -> None:
    text = "x".join(DECOMPOSED.values())
    assert nfc(text) == ORACLE(text)


PARTS = st.one_of(
    st.sampled_from(sorted(ORDER)),
    st.sampled_from("aeEouAIs \u1100\u1161\u1162\u11a8\u11c2가각ÅǖἄṩΩ豈\u0344\u0958\u09c7\u09be\u0dd9\u0dca\u0dcf"),
    st.sampled_from([c for parts in DECOMPOSED.values() for c in parts]),
    st.characters(exclude_categories=["Cs"]),
)


@settings(max_examples=1000, deadline=None)
@given(text=st.lists(PARTS, max_size=16).map("".join))
def test_any_string(text: str) -> None:
    assert nfc(text) == ORACLE(text)


@settings(max_examples=500, deadline=None)
@given(text=st.lists(PARTS, max_size=16).map("".join))
def test_clusters_are_independent(text: str) -> None:
    assert "".join(nfc(text[start:end]) for start, end in clusters(text)) == nfc(text)
    assert "".join(text[start:end] for start, end in clusters(text)) == text
