"""E-mail addresses, their domain in lower case."""

import re
from collections.abc import Iterator

from pipeline.text.values.base import Value
from pipeline.text.values.reading import Reading

# The local part begins where a run of its characters begins, so that no run is read twice.
_EMAIL = re.compile(
    r"(?<![\w.!#$%&'*+/=?^`{|}~-])([\w!#$%&'*+/=?^`{|}~-][\w.!#$%&'*+/=?^`{|}~-]{0,63})"
    r"@((?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}[^\W\d_]{2,24})(?![\w-])"
)


def find(text: str, reading: Reading) -> Iterator[Value]:
    """Every address as RFC 5321 has them, without quoted local parts."""
    for match in _EMAIL.finditer(text):
        if ".." not in match[1] and not match[1].endswith("."):
            yield Value(match.start(), match.end(), f"{match[1]}@{match[2].lower()}")
