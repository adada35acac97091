"""International bank account numbers (ISO 13616): length of the country and check digits, without blanks."""

import re
from collections.abc import Iterator

from pipeline.text.values.base import Value
from pipeline.text.values.reading import Reading

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


def find(text: str, reading: Reading) -> Iterator[Value]:
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
