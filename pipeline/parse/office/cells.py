"""Cells of a sheet: addresses, which numbers are dates (ISO/IEC 29500-1, 18.8.30), and numbers as text."""

import re
from datetime import datetime, timedelta

from lxml import etree

from pipeline.parse.office.package import Package, whole_number

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_BUILT_IN = {**dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 59)), "date"), 18: "time", 19: "time",
             20: "time", 21: "time", 22: "moment", 32: "time", 33: "time", 34: "time", 35: "time", 45: "time",
             47: "time",
             46: "duration"}  # fmt: skip
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_LETTERS = re.compile(r"\$?([A-Z]{1,3})\$?\d+", re.IGNORECASE)
_DAYS_1904 = 1462
_LAST_DAY = 2_958_466  # 9999-12-31


class Styles:
    """What the style numbers of a workbook's cells say of their numbers; `epoch` is the day 0 of its dates."""

    def __init__(self, package: Package, workbook: etree._Element) -> None:
        properties = workbook.find(S + "workbookPr")
        from_1904 = properties is not None and properties.get("date1904", "0") in {"1", "true"}
        self.epoch = _DAYS_1904 if from_1904 else 0
        self._kinds: list[str] = []
        for part in package.related(package.main, "styles"):
            root = package.xml(part)
            custom = {f.get("numFmtId"): number_kind(f.get("formatCode", "")) for f in root.iter(S + "numFmt")}
            for style in root.iterfind(f"{S}cellXfs/{S}xf"):
                number = style.get("numFmtId", "0")
                self._kinds.append(custom.get(number) or _BUILT_IN.get(whole_number(number, 0), ""))

    def kind_of(self, style: str | None) -> str:
        """ "date", "time", "moment" (both), "duration", or "" for a plain number."""
        number = whole_number(style, 0)
        return self._kinds[number] if number < len(self._kinds) else ""


def column_number(reference: str) -> int:
    """The column of an address, from 1; 0 where it is none. "AA7" is 27."""
    match, number = _LETTERS.fullmatch(reference), 0
    for letter in match[1].upper() if match else "":
        number = number * 26 + ord(letter) - 64
    return number


def number_text(value: str, kind: str, epoch: int) -> str:
    """A stored number as text: whole numbers without a point, others in the shortest form that reads back the same."""
    try:
        number = float(value)
    except ValueError:
        return value
    if kind and 0 <= number + epoch < _LAST_DAY:
        return _moment(number, kind, epoch)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def number_kind(code: str) -> str:
    """What a number format shows, from its first section without literals: one of the kinds of `kind_of`."""
    code = _LITERAL.sub("", code.split(";")[0]).lower()
    if "[" in code:
        return "duration"
    date, time = bool(re.search("[dy]|m{3,}", code)), bool(re.search("[hs]", code))
    if re.search("[0#?]", code.replace(".0", "")) or "general" in code:
        return ""
    return {(True, True): "moment", (True, False): "date", (False, True): "time"}.get(
        (date, time), "date" if "m" in code else ""
    )


def _moment(number: float, kind: str, epoch: int) -> str:
    if kind == "duration":
        minutes, seconds = divmod(round(number * 86_400), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    days = number + epoch
    days += days < 60 and not epoch  # in the calendar of 1900 that year has a 29 February
    moment = datetime(1899, 12, 30) + timedelta(seconds=round(days * 86_400))
    whole = number == int(number)
    if kind == "time" and number < 1:
        return f"{moment:%H:%M:%S}"
    return f"{moment:%Y-%m-%d}" if kind == "date" and whole else f"{moment:%Y-%m-%d %H:%M:%S}"
