"""EBCDIC, the text of mainframes (IBM code pages 37, 500 and 273), told by where its blanks, letters and digits lie."""

import re

_LINE_ENDS = re.compile(rb"[\x15\x25]|\r")
_WRITTEN = bytes(  # blank, letters, digits, the signs that all code pages share, tab and line ends
    {0x05, 0x0D, 0x15, 0x25, 0x40, 0x4B, 0x4C, 0x4D, 0x4E, 0x50, 0x5C, 0x5D, 0x5E, 0x60, 0x61}
    | {0x6B, 0x6C, 0x6D, 0x6E, 0x6F, 0x7A, 0x7D, 0x7E, 0x7F, *range(0xF0, 0xFA)}
    | {first + place for first in (0x81, 0x91, 0xC1, 0xD1) for place in range(9)}
    | {first + place for first in (0xA2, 0xE2) for place in range(8)}
)
_SHORTEST, _SAMPLE = 32, 1 << 16  # bytes
_IN_WORDS = re.compile(r"[^\W\d_][^\w\s.,:;'&/()-](?=[^\W\d_])")  # a sign that only a wrong code page puts there


def is_ebcdic(data: bytes) -> bool:
    """Whether nearly all bytes are what EBCDIC writes, with its blanks, and none of ASCII's."""
    sample = data[:_SAMPLE]
    others = len(sample.translate(None, _WRITTEN))
    blanks = sample.count(b"\x40")
    return (
        len(sample) >= _SHORTEST and 20 * others <= len(sample) <= 50 * blanks and 50 * sample.count(b"\x20") <= blanks
    )


def has_lines(data: bytes) -> bool:
    """Whether lines end; else it is records of one length, which only their description can divide into fields."""
    return _LINE_ENDS.search(data) is not None


def page_of(data: bytes) -> str:
    """The code page that puts the fewest signs into words, the most usual one where they are equal."""
    sample = data[:_SAMPLE]
    return min(("cp037", "cp500", "cp273"), key=lambda page: len(_IN_WORDS.findall(sample.decode(page))))
