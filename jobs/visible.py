"""Text for a terminal: that of others (names, reasons, values from documents), which can neither act there nor turn
around, and times as this machine's clock shows them."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

# C0 but the line feed, DEL, C1; the marks, embeddings, overrides and isolates of the bidirectional algorithm (Unicode
# UAX 9); line and paragraph separators; the byte order mark; lone surrogates, which stand for bytes of names that are
# no UTF-8, and which no terminal takes
CONTROLS = re.compile(
    "[\\x00-\\x09\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff\\ufeff]"
)


def visible(text: str) -> str:
    """`text` with what acts on a terminal written as an escape, such as \\x1b or \\u202e; lines stay."""
    return CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    """The text as people see it, in one line."""
    return visible(" ".join(text.splitlines()))


def quoted(text: str) -> str:
    """The text in quotes, as a file has it: `repr` doubles the backslashes of a path such as C:\\Scans."""
    return repr(text).replace("\\\\", "\\")


def moment(time: str | datetime) -> str:
    """A time, such as one of the log (UTC), as this machine's clock shows it: to the minute, with the zone."""
    at = datetime.fromisoformat(time) if isinstance(time, str) else time
    return f"{at.astimezone():%Y-%m-%d %H:%M %Z}"


def counted(number: int, noun: str) -> str:
    """`1 document`, `2 documents`, `2 entries`, `2 processes`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}{'es' if noun.endswith('ss') else 's'}"
    return f"{number:,} {noun if number == 1 else plural}"


def inside_in_words(inside: Mapping[str, Any]) -> str:
    """`page 12 of 300 of a.pdf`, `3,000 of 90,000 tokens of a document`: how far one is that takes a while."""
    whole = "" if inside["of"] is None else f" of {inside['of']:,}"
    of = f" of {one_line(str(inside['document'] or 'a document'))}"
    if inside["counts"] == "pages":
        return f"page {inside['done']:,}{whole}{of}"
    return f"{inside['done']:,}{whole} tokens{of}"
