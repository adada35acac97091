"""Text that others wrote, for terminals, logs and tables: one line, and nothing in it acts."""

import os
import re

_ACTING = re.compile(  # controls of C0 and C1, line ends, widthless and direction marks, tags
    "[\\x00-\\x1f\\x7f-\\x9f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\U000e0000-\\U000e007f]"
)


def visible(text: str) -> str:
    """`text` with what controls a terminal or the direction escaped as in a Python string."""
    return _ACTING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_NO_CHARACTER = re.compile("[\\ud800-\\udfff]")  # bytes of a name that is no UTF-8, and halves of pairs


def storable(text: str) -> str:
    """`text` as UTF-8 can have it: a byte of a name that is none is escaped as in `shown`, half a pair as \\ud83d."""
    return text if text.isascii() else _NO_CHARACTER.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{code:04x}"


def shown(path: str) -> str:
    """`path` for people, log and table: what is not UTF-8, or controls a terminal or the direction, is escaped.

    Where nothing is, it is the same object: a run keeps both for every path.
    """
    told = visible(os.fsencode(path).decode("utf-8", "backslashreplace"))
    return path if told == path else told
