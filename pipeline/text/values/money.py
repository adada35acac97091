"""Amounts of money, normalised to a plain decimal number and the ISO 4217 code: 1234.50 EUR."""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from pipeline.text.values import currency
from pipeline.text.values.base import Value
from pipeline.text.values.currency import Beside
from pipeline.text.values.decimals import NUMBER, parse_decimal
from pipeline.text.values.reading import Reading

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


def find(text: str, reading: Reading) -> Iterator[Value]:
    """Every number with a currency beside it, and, marked unsure, every number with two digits after the mark.

    A number without a currency gets that of the document where the document names only one, with a note.
    """
    default, taken = currency.only_currency(text), 0
    for match in _AMOUNT.finditer(text):
        parsed = parse_decimal(match[0], reading, cents=True)
        if parsed is None or match.start() < taken:
            continue
        before = currency.before(text, match.start(), taken)
        after = currency.after(text, match.end(), named=before.unit is not None)
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
