"""Counts as a list shows them: digits, letters and Roman numerals."""

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
          (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


def format_number(number: int, form: str | None) -> str:
    """A count in one of the forms of numbers (ST_NumberFormat); unknown ones as decimal."""
    if form in {"lowerLetter", "upperLetter"} and number > 0:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 % 20 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form in {"lowerRoman", "upperRoman"} and 0 < number < 4000:
        return _roman(number).upper() if form == "upperRoman" else _roman(number)
    return f"{number:02d}" if form == "decimalZero" else str(number)


def _roman(number: int) -> str:
    digits = ""
    for worth, letters in _ROMAN:
        times, number = divmod(number, worth)
        digits += letters * times
    return digits
