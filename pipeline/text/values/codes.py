"""Values that are known by their form: accounts, addresses, telephone numbers, references, and other numbers."""

import re
from collections.abc import Iterator

from pipeline.text.values.amounts import NUMBER, find_money, find_percents, parse_decimal
from pipeline.text.values.base import Reading, Value
from pipeline.text.values.date import find_dates

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?:[ \u00a0]?[A-Za-z0-9]){11,30}")
# Length by country, from the SWIFT registry of IBAN formats.
_LENGTHS = {
    **dict.fromkeys(("NO",), 15),
    **dict.fromkeys(("BE",), 16),
    **dict.fromkeys(("DK", "FI", "FO", "GL", "NL"), 18),
    **dict.fromkeys(("MK", "SI"), 19),
    **dict.fromkeys(("AT", "BA", "EE", "KZ", "LT", "LU", "XK"), 20),
    **dict.fromkeys(("CH", "HR", "LI", "LV"), 21),
    **dict.fromkeys(("BG", "BH", "CR", "DE", "GB", "GE", "IE", "ME", "RS", "VA"), 22),
    **dict.fromkeys(("AE", "GI", "IL", "IQ", "TL"), 23),
    **dict.fromkeys(("AD", "CZ", "ES", "MD", "PK", "RO", "SA", "SE", "SK", "TN", "VG"), 24),
    **dict.fromkeys(("LY", "PT", "ST"), 25),
    **dict.fromkeys(("IS", "TR"), 26),
    **dict.fromkeys(("FR", "GR", "IT", "MC", "MR", "SM"), 27),
    **dict.fromkeys(("AL", "AZ", "BY", "CY", "DO", "GT", "HU", "LB", "NI", "PL", "SV"), 28),
    **dict.fromkeys(("BR", "EG", "PS", "QA", "UA"), 29),
    **dict.fromkeys(("JO", "KW", "MU"), 30),
    **dict.fromkeys(("MT", "SC"), 31),
    **dict.fromkeys(("LC",), 32),
}


def find_ibans(text: str, reading: Reading) -> Iterator[Value]:
    """Every number of its country's length whose check digits hold."""
    at = 0
    while match := _IBAN.search(text, at):
        end = _end_of(match[0], _LENGTHS.get(match[0][:2], 0))
        iban = re.sub(r"\s", "", match[0][:end]).upper()
        if end and check_digits_hold(iban) and not text[match.start() + end :][:1].isalnum():
            yield Value(match.start(), match.start() + end, iban)
            at = match.start() + end
        else:
            at = match.start() + 2


def check_digits_hold(iban: str) -> bool:
    """ISO 7064 mod 97-10: the country and check digits moved to the end, letters as 10 to 35, leave 1."""
    return int("".join(str(int(char, 36)) for char in iban[4:] + iban[:4])) % 97 == 1


def _end_of(text: str, length: int) -> int:
    """Where the `length`-th letter or digit of text ends; 0 where there are fewer, or no such country."""
    seen = 0
    for index, char in enumerate(text):
        seen += char.isalnum()
        if seen == length:
            return index + 1 if length else 0
    return 0


# The local part begins where a run of its characters begins, so that no run is read twice.
_EMAIL = re.compile(
    r"(?<![\w.!#$%&'*+/=?^`{|}~-])([\w!#$%&'*+/=?^`{|}~-][\w.!#$%&'*+/=?^`{|}~-]{0,63})"
    r"@((?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24})(?![\w-])"
)


def find_emails(text: str, reading: Reading) -> Iterator[Value]:
    """Every address as RFC 5321 has them, without quoted local parts."""
    for match in _EMAIL.finditer(text):
        if ".." not in match[1] and not match[1].endswith("."):
            yield Value(match.start(), match.end(), f"{match[1]}@{match[2].lower()}")


_PHONE = re.compile(r"(?<![\w.,/+-])(?:\+|\()?\d[\d \u00a0()/.–-]{5,24}\d(?![\w]|[.,/-]\d)")  # noqa: RUF001
_LABEL = re.compile(r"(?:tel|phone|fon|fax|mobil|mobile|cell|handy|call|hotline|☎)[^\d\n]{0,20}$", re.IGNORECASE)
_NORTH_AMERICA = re.compile(r"(?:1[ .-])?\(?[2-9]\d{2}\)?[ .-]{1,3}\d{3}[ .-]\d{4}")
_NO_PHONE = re.compile(  # dates, amounts, and years in a row
    r"\d{1,2}\.\d{1,2}\.\d{2,4}|\d{4}-\d{2}-\d{2}.*|\d{1,3}(?:\.\d{3})+|\d{1,2}/\d{1,2}/\d{2,4}|\d+\.\d+"
    r"|(?:19|20)\d{2} ?[–-] ?(?:19|20)\d{2}"  # noqa: RUF001
)


def find_phones(text: str, reading: Reading) -> Iterator[Value]:
    """Every run of 7 to 15 digits that begins with +, 00 or 0, is grouped as in North America, or follows a label."""
    for match in _PHONE.finditer(text):
        verbatim = match[0]
        digits = re.sub(r"\D", "", verbatim.replace("(0)", ""))
        if not 7 <= len(digits) <= 15 or verbatim.count("(") != verbatim.count(")") or _NO_PHONE.fullmatch(verbatim):
            continue
        labelled = _LABEL.search(text, max(0, match.start() - 32), match.start()) is not None
        if verbatim[0] == "+":
            yield Value(match.start(), match.end(), f"+{digits}")
        elif digits.startswith("00"):
            yield Value(match.start(), match.end(), f"+{digits[2:]}")
        elif labelled or verbatim[0] in "0(" or _NORTH_AMERICA.fullmatch(verbatim):
            yield Value(match.start(), match.end(), digits, "no country given", sure=labelled)


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


def find_references(text: str, reading: Reading) -> Iterator[Value]:
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


_NUMBER_NUMBER = re.compile(  # no exponent, no footnote, and no power of ten
    rf"(?<![\w.,/^-])(?<!\^\()[-−+]?(?<!\d){NUMBER}(?![\w/]|[.,'-]\d|(?<=(?<![\d.,])10)\^[-−]?\d)"  # noqa: RUF001
)
_TIME = re.compile(
    r"(?<!\d)\d{1,2}[:.]\d{2}(?::\d{2})?(?: ?[+-]\d{4}| ?(?:Uhr|[ap]\.?m\b\.?))"
    r"|(?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?![\d:])|(?<!\d)\d{1,2} ?(?:Uhr|[ap]\.?m\b)",
    re.IGNORECASE,
)


def find_numbers(text: str, reading: Reading) -> Iterator[Value]:
    """Every number that is no part of a word, nor of a value that is more than a number."""
    spans = sorted(_more_than_numbers(text, reading))
    reached, at = 0, 0
    for match in _NUMBER_NUMBER.finditer(text):
        while at < len(spans) and spans[at][0] < match.end():
            reached, at = max(reached, spans[at][1]), at + 1
        if match.start() < reached:
            continue
        parsed = parse_decimal(match[0].lstrip("-−+"), reading)  # noqa: RUF001
        if parsed:
            sign = "-" if match[0][0] in "-−" else ""  # noqa: RUF001
            yield Value(match.start(), match.end(), sign + parsed[0], parsed[1])


def _more_than_numbers(text: str, reading: Reading) -> Iterator[tuple[int, int]]:
    """Where dates, times, amounts, percentages, accounts, telephone numbers, addresses and references stand."""
    for finder in (find_dates, find_money, find_percents, find_ibans, find_phones, find_emails, find_references):
        for value in finder(text, reading):
            certain = value.sure or finder is find_dates
            if certain and not (
                finder is find_references and all(char.isdecimal() or char == "." for char in value.value)
            ):
                yield value.start, value.end
    for match in _TIME.finditer(text):
        yield match.span()
