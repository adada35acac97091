"""Amounts of money and percentages: decimal numbers as people write them, and the currencies beside them."""

# ruff: noqa: RUF001  typographic marks are meant
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from pipeline.text.values.base import Reading, Value

_GROUP = "[.,'’\u00a0\u202f\u2009]"
NUMBER = (  # digits in groups of three (two in India) with an optional fraction, or plain digits with one
    rf"(?:\d{{1,3}}(?:{_GROUP}\d{{2,3}}){{0,6}}{_GROUP}\d{{3}}(?:[.,]\d{{1,6}})?"
    r"|\d{1,3}(?: \d{3}){1,4}(?:,\d{2})(?!\d)"
    r"|\d{1,18}(?:[.,]\d{1,8})?)"
)
_GROUPED = re.compile(r"\d{1,3}(?:(?:([.,'’\u00a0\u202f\u2009 ])\d{3})(?:\1\d{3})*|(?:,\d{2})+,\d{3})")


def parse_decimal(text: str, reading: Reading, *, cents: bool = False) -> tuple[str, str | None] | None:
    """A number in plain decimal notation and a note where it could be read otherwise; None where it is no number.

    Two different marks: the last one is the decimal mark. One mark that stands more than once separates thousands. One
    mark with other than three digits after it is the decimal mark. One mark with three digits after it is read as the
    document reads: its decimal mark if it is that, else a separator of thousands; with `cents`, which are never three,
    always as a separator of thousands.
    """
    marks = [char for char in text if not char.isdecimal()]
    if not marks:
        return _plain(text, ""), None
    head, tail = re.split(r"[^\d](?=\d*$)", text, maxsplit=1)
    last = marks[-1]
    if len(set(marks)) > 1:
        return (_plain(head, tail), None) if last in ".," and _is_grouped(head) and last not in marks[:-1] else None
    if len(marks) > 1 or last not in ".,":
        return (_plain(text, ""), None) if _is_grouped(text) else None
    if len(tail) != 3 or len(head) > 3 or head == "0":
        return _plain(head, tail), None
    if cents:
        return _plain(text, ""), None
    return _three_digits_after(text, head, tail, reading)


def _three_digits_after(text: str, head: str, tail: str, reading: Reading) -> tuple[str, str | None]:
    """1.234 or 1,234: thousands, unless the mark is the document's decimal mark."""
    decimal = (last := text[-4]) == ("," if reading.decimal_comma else ".")
    value = _plain(head, tail) if decimal else _plain(head + tail, "")
    if reading.decimal_shown or reading.language:
        return value, None
    how = "the decimal mark" if decimal else "a separator of thousands"
    return value, f"{last!r} in {text} was read as {how}; the document does not show which"


def _is_grouped(text: str) -> bool:
    return text.isdecimal() or _GROUPED.fullmatch(text) is not None


def _plain(whole: str, fraction: str) -> str:
    """Digits without separators, without leading zeros."""
    digits = "".join(str(int(char)) for char in whole if char.isdecimal()).lstrip("0") or "0"
    return f"{digits}.{''.join(str(int(char)) for char in fraction)}" if fraction else digits


_CODES = (
    "EUR USD GBP CHF JPY CNY INR PLN CZK HUF SEK NOK DKK AUD CAD NZD SGD HKD TRY RUB UAH RON ZAR BRL MXN AED ILS KRW"
)
UNITS = {  # ISO 4217, by what is written; without a full stop at the end
    "€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₺": "TRY", "₴": "UAH", "₪": "ILS",
    "₩": "KRW", "US$": "USD", "A$": "AUD", "C$": "CAD", "HK$": "HKD", "R$": "BRL", "zł": "PLN", "Kč": "CZK",
    "Ft": "HUF", "Rs": "INR", "SFr": "CHF", "sFr": "CHF", "Fr": "CHF", "Eur": "EUR", "eur": "EUR", "EURO": "EUR",
    "Euro": "EUR", "euro": "EUR", "Euros": "EUR", "euros": "EUR", "dollars": "USD", "Dollars": "USD", "Dollar": "USD",
    "pounds": "GBP", "Pounds": "GBP", "Franken": "CHF", **{code: code for code in _CODES.split()},
}  # fmt: skip
SCALES = {  # the power of ten, by what is written
    "million": 6, "Million": 6, "millions": 6, "Millionen": 6, "Mio": 6, "mn": 6, "billion": 9, "Billion": 9, "bn": 9,
    "Milliarden": 9, "Milliarde": 9, "Mrd": 9, "thousand": 3, "Tausend": 3, "Tsd": 3,
}  # fmt: skip
_UNCERTAIN = frozenset(("pounds", "Pounds", "Ft", "Fr", "Rs"))  # words of other meanings too
_REACH = 16  # characters before and after a number in which its currency may stand

_GAP = "[ \u00a0\u202f]{0,2}"
_NAME = r"(?P<name>[A-Z]{0,3}[€$£¥₹₽₺₴₪₩]|(?<![^\W\d_])[^\W\d_]{2,11}(?![^\W\d_]))"  # looked up in the tables above
_BEFORE = re.compile(rf"(?P<sign>[-−]?){_GAP}{_NAME}\.?{_GAP}(?P<sign2>[-−]?){_GAP}$")
_MINUS = re.compile(r"(?<![\w.,])[-−] ?$")
_ROUND = re.compile(r"[.,](?:--|-|–|—)")
_TRAILING_MINUS = re.compile(r"-(?![\w-])")
_AFTER = re.compile(rf"{_GAP}{_NAME}(?!\d)")
_FOOTNOTE = re.compile(r"[.,]?(?:\^\(?[\w*]{1,3}\)?|[⁰¹²³⁴-⁹]{1,3})")
_ANY = re.compile(_NAME)


@dataclass(frozen=True)
class Beside:
    """The signs before or after a number: where all of them end, its currency or None, its sign, its power of ten."""

    edge: int
    unit: str | None = None
    negative: bool = False
    scale: int = 0


def before_number(text: str, start: int, floor: int) -> Beside:
    """Read the signs before the number that begins at `start`, not reaching below `floor`."""
    low = max(floor, start - _REACH)
    match = _BEFORE.search(text, low, start)
    if match and match["name"] in UNITS:
        edge = match.start("sign") if match["sign"] else match.start("name")
        return Beside(edge, UNITS[match["name"]], bool(match["sign"] or match["sign2"]))
    minus = _MINUS.search(text, low, start)
    return Beside(minus.start(), negative=True) if minus else Beside(start)


def after_number(text: str, end: int, *, named: bool) -> Beside:
    """Read the signs after the number that ends at `end`: a dash for no cents, a minus, a scale, and the currency,
    unless that was `named` before it. The mark of a footnote may stand between.
    """
    edge, scale, negative = end, 0, False
    if match := _ROUND.match(text, end):
        edge = match.end()
    elif match := _TRAILING_MINUS.match(text, end):
        edge, negative = match.end(), True
    footnote = _FOOTNOTE.match(text, edge)
    at = footnote.end() if footnote else edge
    if (match := _AFTER.match(text, at, end + _REACH)) and match["name"] in SCALES:
        scale, edge = SCALES[match["name"]], match.end()
        at = edge + text.startswith(".", edge)
    if not named and (match := _AFTER.match(text, at, end + _REACH)) and match["name"] in UNITS:
        return Beside(match.end(), UNITS[match["name"]], negative, scale)
    return Beside(edge, None, negative, scale)


def only_currency(text: str) -> str | None:
    """The currency that the document names, None where there are several or none."""
    found: set[str] = set()
    for match in _ANY.finditer(text):
        if match["name"] in UNITS and match["name"] not in _UNCERTAIN:
            found.add(UNITS[match["name"]])
            if len(found) > 1:
                return None
    return found.pop() if found else None


_AMOUNT = re.compile(rf"(?:(?<![\w.,/^])(?<!\d-)(?<!\^\()|(?<=EUR|USD|GBP|CHF)){NUMBER}(?!\d)")
_CENTS = re.compile(r"[.,]\d{2}$")
_PAYABLE = re.compile(  # what stands before the sum of an invoice, rather than one of its parts
    r"\b(?:grand\s+total|(?:total|amount|balance)(?:\s+amount)?\s+(?:due|payable|to\s+pay)|invoice\s+total|total\s+invoice"
    r"|total\s+incl\w*|gesamtbetrag|rechnungsbetrag|endbetrag|zahlbetrag|bruttobetrag|zu\s+zahlen\w*|gesamtsumme"
    r"|(?:somme|montant|net|total|reste)\s+à\s+payer|(?:total|montant)\s+t\.?t\.?c|totaal\s+(?:te\s+betalen|incl\w*)"
    r"|te\s+betalen|factuur\s+totaal|factuurbedrag|totale\s+(?:fattura|documento|da\s+pagare)|importe\s+total"
    r"|total\s+(?:a\s+pagar|factura)|do\s+zapłaty|należność\s+ogółem|att\s+betala|at\s+betale|celkem\s+k\s+úhradě)"
    r"[^\d\n]{0,24}\Z",
    re.IGNORECASE,
)
_SUM = (
    "total", "amount", "sum", "due", "payable", "grand", "balance", "gesamtbetrag", "rechnungsbetrag", "gesamt",
    "betrag", "summe", "montant", "ttc", "totaal", "totale", "importe", "invoice",
)  # fmt: skip
_RAISED_CENTS = re.compile(r"[.,]?(?:\^\d\d|[⁰¹²³⁴-⁹]{2})(?!\w)")
_NEAR = 64  # characters before an amount that say that it is the sum
_NO_MONEY = re.compile("[.,/:-]\\d|[ \u00a0\u202f]{0,2}(?:%|[Pp]rozent|percent)|[^\\W_]")


def find_money(text: str, reading: Reading) -> Iterator[Value]:
    """Every number with a currency beside it, and, marked unsure, every number with two digits after the mark.

    A number without a currency gets that of the document where the document names only one, with a note.
    """
    default, taken = only_currency(text), 0
    for match in _AMOUNT.finditer(text):
        parsed = parse_decimal(match[0], reading, cents=True)
        if parsed is None or match.start() < taken:
            continue
        before = before_number(text, match.start(), taken)
        after = after_number(text, match.end(), named=before.unit is not None)
        if before.unit or after.unit or _looks_like_money(text, match.start(), match.end()):
            value = _value(parsed[0], before, after, default)
            if (cents := _RAISED_CENTS.match(text, match.end())) and "." not in parsed[0]:
                value = replace(value, note=f"{match[0]}{cents[0]}: what is raised is cents or a footnote", sure=False)
            payable = _PAYABLE.search(text, max(0, value.start - _NEAR), value.start)
            yield replace(value, cues=_SUM) if payable else value
            taken = after.edge


def _looks_like_money(text: str, start: int, end: int) -> bool:
    """Whether the number text[start:end] has cents, and is no percentage nor part of something longer."""
    return bool(_CENTS.search(text, start, end)) and not _NO_MONEY.match(text, end)


def _value(digits: str, before: Beside, after: Beside, default: str | None) -> Value:
    """The amount with the currency before it, else that after it, else the only one of the document."""
    sign = "-" if before.negative or after.negative else ""
    amount = format(Decimal(digits).scaleb(after.scale), "f") if after.scale else digits
    if unit := before.unit or after.unit:
        return Value(before.edge, after.edge, f"{sign}{amount} {unit}")
    if default:
        note = f"{default} is the only currency in the document"
        return Value(before.edge, after.edge, f"{sign}{amount} {default}", note, sure=False)
    return Value(before.edge, after.edge, sign + amount, "no currency beside it", sure=False)


_PERCENT = re.compile(
    rf"(?<![\w.,^])([-−+]?)({NUMBER})(?:\^\(?\w{{1,2}}\)?)?[ \u00a0\u202f]?"
    r"(?:%|percent\b|per cent\b|prozent\b|pour cent\b|v\. ?H\.)",
    re.IGNORECASE,
)


def find_percents(text: str, reading: Reading) -> Iterator[Value]:
    """Every number followed by a percent sign or the word for it."""
    for match in _PERCENT.finditer(text):
        parsed = parse_decimal(match[2], reading)
        if parsed:
            sign = "-" if match[1] in ("-", "−") else ""
            yield Value(match.start(), match.end(), f"{sign}{parsed[0]}%", parsed[1])
