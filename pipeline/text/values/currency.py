"""Names and signs of currencies and of thousands and millions, and which of them stands beside a number."""

# ruff: noqa: RUF001  minus signs are meant
import re
from dataclasses import dataclass

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


def before(text: str, start: int, floor: int) -> Beside:
    """Read the signs before the number that begins at `start`, not reaching below `floor`."""
    low = max(floor, start - _REACH)
    match = _BEFORE.search(text, low, start)
    if match and match["name"] in UNITS:
        edge = match.start("sign") if match["sign"] else match.start("name")
        return Beside(edge, UNITS[match["name"]], bool(match["sign"] or match["sign2"]))
    minus = _MINUS.search(text, low, start)
    return Beside(minus.start(), negative=True) if minus else Beside(start)


def after(text: str, end: int, *, named: bool) -> Beside:
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
