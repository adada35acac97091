"""Telephone numbers: digits, with + and the country where it is given."""

import re
from collections.abc import Iterator

from pipeline.text.values.base import Value
from pipeline.text.values.reading import Reading

_PHONE = re.compile(r"(?<![\w.,/+-])(?:\+|\()?\d[\d \u00a0()/.–-]{5,24}\d(?![\w]|[.,/-]\d)")  # noqa: RUF001
_LABEL = re.compile(r"(?:tel|phone|fon|fax|mobil|mobile|cell|handy|call|hotline|☎)[^\d\n]{0,20}$", re.IGNORECASE)
_NORTH_AMERICA = re.compile(r"(?:1[ .-])?\(?[2-9]\d{2}\)?[ .-]{1,3}\d{3}[ .-]\d{4}")
_NO_PHONE = re.compile(  # dates, amounts, and years in a row
    r"\d{1,2}\.\d{1,2}\.\d{2,4}|\d{4}-\d{2}-\d{2}.*|\d{1,3}(?:\.\d{3})+|\d{1,2}/\d{1,2}/\d{2,4}|\d+\.\d+"
    r"|(?:19|20)\d{2} ?[–-] ?(?:19|20)\d{2}"  # noqa: RUF001
)


def find(text: str, reading: Reading) -> Iterator[Value]:
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
