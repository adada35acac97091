"""Text: what follows a label in its line, the second cell of a row of two, or a whole sentence."""

import re
from collections.abc import Iterator

from pipeline.text.sentences import split_sentences, trimmed
from pipeline.text.values.base import Value
from pipeline.text.values.reading import Reading

_LABELLED = re.compile(r"(?:[^\W_]|\[(?=\d))[^:|\t\n]{0,58}(?::(?=\s)|[ \t]\|(?=[ \t])|\t)\s*(?=\S)")
_HEADING = re.compile(
    r"§|#|\(?\d{1,3}(?:\.\d{1,3}){0,4}[.)]?\s|[ivxIVX]{1,5}[.)]|(?i:section|article|artikel|abschnitt)\s"
)
_GREETING = re.compile(
    r"(?:guten (?:tag|morgen|abend)|sehr geehrte|hallo|liebe[rs]?|dear|hello|hi|good (?:morning|afternoon|evening)"
    r"|bonjour|madame|monsieur|(?:mit )?(?:freundlichen?|besten?|vielen?|herzlichen?) gr(?:ü|ue)(?:ß|ss)en?"
    r"|(?:kind|best|warm) regards|yours (?:sincerely|faithfully|truly)|sincerely|cordialement)\b[^.:;|]{0,60}",
    re.IGNORECASE,
)
_HONORIFIC = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|Hr|Fr)\.")
_RULE = re.compile(r"\|[\s|:-]+")
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
        if not _says_nothing(text, span.start, span.end) and not verbatim.endswith(":"):  # the label of what comes next
            yield Value(value.start, value.end, _SPACE.sub(" ", verbatim), sure=_is_prose(verbatim))


def _is_prose(text: str) -> bool:
    """Whether more than three of four letters and digits are letters, and it is no numbered heading."""
    if len(text) <= _SHORT and _HEADING.match(text):
        return False
    letters, digits = sum(map(str.isalpha, text)), sum(map(str.isdigit, text))
    return letters > 3 * digits


def _says_nothing(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] is a greeting, the head of a table, the line below it, or labels without values."""
    line = text[start:end]
    if _GREETING.fullmatch(_HONORIFIC.sub("", line[: 2 * _SHORT])) and len(line) <= _SHORT:
        return True
    if " | " not in line and not line.startswith("|"):
        return False
    head = line.partition("\n")[0]
    cells = [cell.strip() for cell in head.strip("|").split(" | ") if cell.strip()]
    if all(cell.endswith(":") for cell in cells) or _RULE.fullmatch(head):
        return True
    if _RULE.match(text, start + len(head) + 1 if "\n" in line else end + 1) and head.startswith("|"):
        return True
    return len(cells) > 2 and not any(map(str.isdigit, head)) and _is_first_row(text, start, end)


def _is_first_row(text: str, start: int, end: int) -> bool:
    """Whether no row of a table stands in the line before text[start:end], but one in the line after it."""
    before = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : max(0, start - 1)]
    stop = text.find("\n", end + 1)
    after = text[end + 1 : stop if stop >= 0 else len(text)]
    return " | " not in before and " | " in after


def _more_cells(text: str, start: int, end: int) -> bool:
    return text.find(" | ", start, end) >= 0 or text.find("\t", start, end) >= 0
