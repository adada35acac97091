"""Tables as text: comma, semicolon, tab or bar between the cells. A row becomes a line."""

import csv
from collections import Counter

from pipeline.document import Parsed
from pipeline.errors import DocumentError, Failure
from pipeline.parse.formats.base import Source, finish

PARSER = "csv/1"
DELIMITERS = ",;\t|"
_SAMPLE_ROWS = 200


def parse(source: Source, media_type: str) -> Parsed:
    """The rows; a table whose rows differ in length is read all the same, and noted."""
    text = source.decoded.text
    writer, widths = source.writer(), Counter[int]()
    csv.field_size_limit(max(131_072, len(text)))
    delimiter = "\t" if media_type == "text/tab-separated-values" else delimiter_of(text) or ","
    try:
        for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter):
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
    best: tuple[float, int, str] | None = None
    for delimiter in DELIMITERS:
        widths = _widths(text, delimiter)
        if not widths or (strict and not _is_plainly_a_table(text, widths, delimiter)):
            continue
        usual, count = Counter(widths).most_common(1)[0]
        if usual > 1 and (best is None or (count / len(widths), usual) > best[:2]):
            best = (count / len(widths), usual, delimiter)
    return best[2] if best else None


def _widths(text: str, delimiter: str) -> list[int]:
    lines = text[: 1 << 18].splitlines(keepends=True)
    widths = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            if row:
                widths.append(len(row))
            if len(widths) == _SAMPLE_ROWS:
                break
    except csv.Error:
        return []
    return widths


def _is_plainly_a_table(text: str, widths: list[int], delimiter: str) -> bool:
    if delimiter == "," and (max(widths) < 3 or 2 * text.count(", ") > text.count(",")):  # prose has commas
        return False
    return len(widths) >= 3 and min(widths) == max(widths) >= 2
