"""References: numbers of invoices, orders, customers and files, as they stand."""

import re
from collections.abc import Iterator

from pipeline.text.values.base import Value
from pipeline.text.values.reading import Reading

_REFERENCE = re.compile(
    r"(?<![\w/.@-])(?:"
    r"\d{1,4} [A-Z][A-Za-z]{0,3} \d{1,6}/\d{2,4}"  # the file numbers of German courts: 12 O 345/24
    r"|#?[A-Za-z0-9]+(?:[-/_.:]{1,2}[A-Za-z0-9]+)*"
    r")(?![\w@])"
)
_NO_REFERENCE = re.compile(  # dates, times, amounts, ordinals, web addresses, paragraph numbers
    r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:T.*)?|\d{1,2}:\d{2}(?::\d{2})?"
    r"|\d{1,3}(?:[.]\d{3})+|\d+[.]\d{1,2}|\d+(?:st|nd|rd|th)|(?:www|https?)[.:].*|\d{1,2}(?:\.\d{1,2})+|.{1,2}"
)
_NO_CODE = re.compile(  # words with a number at their end, such as base64; encoded bytes
    r"[A-Za-z]?[a-z]{2,}\d{1,3}|(?=\S*[a-z])(?=\S*[A-Z])[A-Za-z0-9/]{24,}"
)
_INVOICE = re.compile(  # what stands before the number of an invoice
    r"\b(?:invoice|bill|rechnungs?|rg|re|facture|factuur|fattura|factura|fatura|faktura|faktury|számla|lasku"
    r"|faktúra)[ -]?"
    r"(?:number|numéro|numero|nummer|numer|no|nr|n[°º]|num|id|sorszáma)?[ .:#°º-]{0,6}\Z",
    re.IGNORECASE,
)
_NUMBER = (
    "invoice", "number", "rechnungsnummer", "rechnung", "rechnungsnr", "facture", "numéro", "factuurnummer", "factuur",
    "fattura", "factura", "faktura",
)  # fmt: skip
_NEAR = 32  # characters before a reference that say that it is an invoice's
_DIGIT = re.compile(r"\d")
_AMOUNT_FOLLOWS = re.compile(r",\d{2}(?!\d)| ?[€$£%]| (?:EUR|USD|GBP|CHF)\b")
_PLAIN_YEAR = re.compile(r"(?:19|20)\d{2}")


def find(text: str, reading: Reading) -> Iterator[Value]:
    """Every token with a digit, joined by - / _ . or :, that is no date, time, amount, word or encoded bytes.

    Short plain numbers are unsure.
    """
    for match in _REFERENCE.finditer(text):
        token = match[0]
        if not _DIGIT.search(token) or _NO_REFERENCE.fullmatch(token) or _NO_CODE.fullmatch(token):
            continue
        if _AMOUNT_FOLLOWS.match(text, match.end()) or text.startswith("=", match.end()):
            continue
        sure = not (token.isdecimal() and (len(token) < 4 or _PLAIN_YEAR.fullmatch(token)))
        invoice = _INVOICE.search(text, max(0, match.start() - _NEAR), match.start())
        yield Value(match.start(), match.end(), token, None, sure, _NUMBER if invoice else ())
