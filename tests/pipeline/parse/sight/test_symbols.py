"""The signs of symbol fonts."""

import unicodedata

import pytest

from pipeline.parse.sight.symbols import _SIGNS, UNKNOWN_SIGN, shown_in


@pytest.mark.parametrize(
    ("font", "text", "shown"),
    [
        ("Symbol", "5 \uf06dg", "5 \u00b5\u03b3"),
        ("Symbol", "m", "\u00b5"),
        ("Symbol", "\u00b3 10", "\u2265 10"),
        ("Symbol", "\uf0a3", "\u2264"),
        ("Symbol", "1.240,50", "1.240,50"),
        ("SymbolMT", "a", "\u03b1"),
        ("Wingdings", "\u00fe", "[x]"),
        ("Wingdings", "\uf0fd\uf0a8", "[x][ ]"),
        ("Wingdings", "\uf06f", "[ ]"),
        ("wingdings-regular", "\u00fc", "\u2713"),
        ("Wingdings 2", "R\uf0a3T", "[x][ ][x]"),
        ("Wingdings 3", "\uf022", "\u2b62"),
        ("Webdings", "a", "\u2714"),
        ("ZapfDingbats", "4", "\u2714"),
        ("ITC Zapf Dingbats", "8", "\u2718"),
        ("Arial", "m \u00b3", "m \u00b3"),
        ("Symbol", "\u2264 \u4e2d", "\u2264 \u4e2d"),
        ("Symbol", " \u00a0\t", " \u00a0\t"),
    ],
)
def test_what_a_font_shows(font: str, text: str, shown: str) -> None:
    assert shown_in(font, text) == shown


def test_what_is_in_no_table_is_unknown() -> None:
    assert shown_in("Arial", "a\uf06d") == f"a{UNKNOWN_SIGN}"
    assert shown_in("Symbol", "\uf0f0") == UNKNOWN_SIGN
    assert shown_in("House Icons", "ab c", of_signs=True) == f"{UNKNOWN_SIGN * 2} {UNKNOWN_SIGN}"


@pytest.mark.parametrize("font", _SIGNS)
def test_a_table_has_a_sign_or_none_for_each_place(font: str) -> None:
    assert len(_SIGNS[font]) == 0x100 - 0x20
    assert all(unicodedata.category(one) not in {"Cc", "Co", "Cn", "Cs"} for one in _SIGNS[font])
    assert not any("a" <= one.lower() <= "z" for one in _SIGNS[font])
