"""Tables as text: comma, semicolon, tab or bar between the cells. A row becomes a line."""

import csv
import re
from collections import Counter
from collections.abc import Iterator

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.contract import Source, finish

PARSER = "csv/2"
DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 200
_LINE = re.compile(r"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++")  # nothing else ends a row, as str.splitlines would have it
_SAID = re.compile(r"\ufeff?sep=([^\w\s\"']|\t)(?:\r\n?|\n|\Z)", re.IGNORECASE)  # a first line for Excel, and no data


def parse(source: Source, media_type: str) -> Parsed:
    """The rows; a table whose rows differ in length is read all the same, and noted."""
    text = source.decoded.text
    writer, widths = source.writer(), Counter[int]()
    csv.field_size_limit(max(131_072, len(text)))
    said = _SAID.match(text)
    delimiter = delimiter_of(text) or ","
    if not said and media_type == "text/tab-separated-values":
        delimiter = "\t"
    try:
        for row in csv.reader(_lines(text, said.end() if said else 0), delimiter=delimiter):
            widths[len(row)] += bool(row)
            writer.row(row)
    except csv.Error as error:
        raise DocumentError(Failure.CORRUPT, f"not a table: {error}") from error
    usual = max(widths, key=lambda width: widths[width], default=0)
    others = sum(widths.values()) - widths[usual]
    notes = [f"{others} rows have more or fewer than {usual} cells"] if others else []
    return finish(source, writer, media_type, PARSER, notes=notes, decoded=source.decoded)


def delimiter_of(text: str, *, strict: bool = False) -> str | None:
    """The character that cuts the first rows into the same number of cells, at least two, most often.

    `strict`, for text that nothing else says is a table: three rows or more, all alike, and cells of a table's size.
    """
    if said := _SAID.match(text):
        return said[1]
    best: tuple[float, int, str] | None = None
    for delimiter in DELIMITERS:
        widths = _widths(text, delimiter, strict)
        if not widths or (strict and (len(widths) < 3 or not min(widths) == max(widths) >= 2)):
            continue
        if strict and delimiter == "," and (max(widths) < 3 or 2 * text.count(", ") > text.count(",")):
            continue  # prose has commas
        usual, count = Counter(widths).most_common(1)[0]
        if usual > 1 and (best is None or (count / len(widths), usual) > best[:2]):
            best = (count / len(widths), usual, delimiter)
    return best[2] if best else None


def _widths(text: str, delimiter: str, strict: bool) -> list[int]:
    """The numbers of cells in the first rows; where these must be `strict`ly alike, none as soon as they are not."""
    widths: list[int] = []
    try:
        for row in csv.reader(_lines(text[: 1 << 18]), delimiter=delimiter):
            if row:
                widths.append(len(row))
                if strict and (len(row) < 2 or len(row) != widths[0]):
                    return []
            if len(widths) == _SAMPLE_ROWS:
                break
    except csv.Error:
        return []
    return widths


def _lines(text: str, start: int = 0) -> Iterator[str]:
    """The lines one by one, with their ends: a list of all would be several times the text."""
    return (line.group() for line in _LINE.finditer(text, start))
