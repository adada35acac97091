"""Text: what follows a label in its line, the second cell of a row of two, or a whole sentence."""

import re
from collections.abc import Iterator

from pipeline.sentences import split_sentences, trimmed
from pipeline.values.base import Value
from pipeline.values.reading import Reading

_LABELLED = re.compile(r"[^\W_][^:|\t\n]{0,58}(?::(?=\s)|[ \t]\|(?=[ \t])|\t)\s*(?=\S)")
_HEADING = re.compile(
    r"§|#|\(?\d{1,3}(?:\.\d{1,3}){0,4}[.)]?\s|[ivxIVX]{1,5}[.)]|(?i:section|article|artikel|abschnitt)\s"
)
_SHORT = 60  # characters: a longer passage is no heading
_SPACE = re.compile(r"\s+")


def find(text: str, reading: Reading) -> Iterator[Value]:
    """One value a sentence, line or table row, white space made single blanks; unsure where it is mostly figures or
    a numbered heading.
    """
    for span in split_sentences(text):
        label = _LABELLED.match(text, span.start, span.end)
        start = label.end() if label and not _more_cells(text, label.end(), span.end) else span.start
        value = trimmed(text, start, span.end)
        verbatim = text[value.start : value.end]
        if not verbatim.endswith(":"):  # the label of what comes next
            yield Value(value.start, value.end, _SPACE.sub(" ", verbatim), sure=_is_prose(verbatim))


def _is_prose(text: str) -> bool:
    """Whether more than three of four letters and digits are letters, and it is no numbered heading."""
    if len(text) <= _SHORT and _HEADING.match(text):
        return False
    letters, digits = sum(map(str.isalpha, text)), sum(map(str.isdigit, text))
    return letters > 3 * digits


def _more_cells(text: str, start: int, end: int) -> bool:
    return text.find(" | ", start, end) >= 0 or text.find("\t", start, end) >= 0
