"""Amounts of money, normalised to a plain decimal number and the ISO 4217 code: 1234.50 EUR."""

# ruff: noqa: RUF001  minus signs and dashes are meant
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal

from pipeline.values.base import Value
from pipeline.values.decimals import NUMBER, parse_decimal
from pipeline.values.reading import Reading

_CODES = (
    "EUR USD GBP CHF JPY CNY INR PLN CZK HUF SEK NOK DKK AUD CAD NZD SGD HKD TRY RUB UAH RON ZAR BRL MXN AED ILS KRW"
)
_UNITS = {
    "€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₺": "TRY", "₴": "UAH", "₪": "ILS",
    "₩": "KRW", "US$": "USD", "A$": "AUD", "C$": "CAD", "HK$": "HKD", "R$": "BRL", "zł": "PLN", "Kč": "CZK",
    "Ft": "HUF", "Rs.": "INR", "Rs": "INR", "SFr.": "CHF", "sFr.": "CHF", "Fr.": "CHF", "Eur": "EUR", "eur": "EUR",
    "EURO": "EUR", "Euro": "EUR", "euro": "EUR", "Euros": "EUR", "euros": "EUR", "dollars": "USD", "Dollars": "USD",
    "Dollar": "USD", "pounds": "GBP", "Pounds": "GBP", "Franken": "CHF", **{code: code for code in _CODES.split()},
}  # fmt: skip
_SCALES = {
    "million": 6, "Million": 6, "millions": 6, "Millionen": 6, "Mio.": 6, "Mio": 6, "mn": 6, "billion": 9, "Billion": 9,
    "bn": 9, "Milliarden": 9, "Milliarde": 9, "Mrd.": 9, "Mrd": 9, "thousand": 3, "Tausend": 3, "Tsd.": 3, "Tsd": 3,
}  # fmt: skip
_GAP = "[ \u00a0\u202f]{0,2}"


def _one_of(words: Mapping[str, object]) -> str:
    """Any of the words, the longest first; those that begin or end with a letter stand free of other letters there."""
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return "(?:" + "|".join(
        (r"(?<![^\W\d_])" if w[0].isalpha() else "") + re.escape(w) + (r"(?![^\W\d_])" if w[-1].isalpha() else "")
        for w in longest_first
    ) + ")"  # fmt: skip


_AMOUNT = re.compile(rf"(?:(?<![\w.,/])(?<!\d-)|(?<=EUR|USD|GBP|CHF)){NUMBER}(?!\d)")
_BEFORE = re.compile(rf"(?P<sign>[-−]?){_GAP}(?P<unit>{_one_of(_UNITS)}){_GAP}(?P<sign2>[-−]?){_GAP}$")
_MINUS = re.compile(r"(?<![\w.,])[-−] ?$")
_AFTER = re.compile(
    rf"(?P<round>[.,](?:--|-|–|—))?(?P<minus>-(?![\w-]))?(?:{_GAP}(?P<scale>{_one_of(_SCALES)}))?(?:{_GAP}(?P<unit>{_one_of(_UNITS)})(?!\d))?"
)
_CENTS = re.compile(r"[.,]\d{2}$")
_NO_MONEY = re.compile(rf"[.,/:-]\d|{_GAP}(?:%|[Pp]rozent|percent)|[^\W_]")
_REACH = 16  # characters before and after a number in which its currency may stand


def find(text: str, reading: Reading) -> Iterator[Value]:
    """Every number with a currency beside it, and, marked unsure, every number with two digits after the mark.

    A number without a currency gets that of the document where the document names only one, with a note.
    """
    default, taken = _only_currency(text), 0
    for match in _AMOUNT.finditer(text):
        parsed = parse_decimal(match[0], reading, cents=True)
        if parsed is None or match.start() < taken:
            continue
        value = _read(text, match.start(), match.end(), taken, parsed, default)
        if value:
            yield value
            taken = value.end


def _read(text: str, start: int, end: int, taken: int, parsed: tuple[str, str | None], default: str) -> Value | None:
    """The amount whose digits are text[start:end], with what stands before it from `taken` on and after it."""
    before = _BEFORE.search(text, max(taken, start - _REACH), start)
    minus = _MINUS.search(text, max(taken, start - 3), start)
    after = _AFTER.match(text, end, end + _REACH)
    assert after is not None  # it matches the empty string too
    unit = before["unit"] if before else after["unit"]
    if unit is None and (not _CENTS.search(text, start, end) or _NO_MONEY.match(text, end)):
        return None
    negative = bool(minus or after["minus"] or (before and (before["sign"] or before["sign2"])))
    amount = _scaled(("-" if negative else "") + parsed[0], after["scale"])
    stop = max((after.end(group) for group in ("round", "minus", "scale") if after[group]), default=end)
    if before is None and after["unit"]:
        stop = after.end("unit")
    begin = before.start() if before else minus.start() if minus else start
    begin += len(text[begin:start]) - len(text[begin:start].lstrip())
    if unit:
        return Value(begin, stop, f"{amount} {_UNITS[unit]}", parsed[1])
    if default:
        return Value(begin, stop, f"{amount} {default}", f"{default} is the only currency in the document", sure=False)
    return Value(begin, stop, amount, "no currency beside it", sure=False)


def _scaled(amount: str, scale: str | None) -> str:
    """The amount times its scale: 2.5 Mio. is 2500000."""
    if scale is None:
        return amount
    return format(Decimal(amount).scaleb(_SCALES[scale]), "f")


_ANY_UNIT = re.compile(_one_of({unit: None for unit in _UNITS if unit not in ("pounds", "Pounds", "Ft", "Fr.", "Rs")}))


def _only_currency(text: str) -> str:
    """The currency that the document names, "" where there are several or none."""
    found: set[str] = set()
    for match in _ANY_UNIT.finditer(text):
        found.add(_UNITS[match[0]])
        if len(found) > 1:
            return ""
    return found.pop() if found else ""
