"""A position in the header of a mapped file; every number it yields has been checked against the file and the caps."""

import mmap
import struct
from pathlib import Path
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadModelFile

MAX_HEADER_BYTES = 128 << 20
"""Everything before the tensors' data; the largest vocabularies with their merges take some 20 MB."""

MAX_STRING_BYTES = 64 << 20
"""Longest string; chat templates and embedded tokenizer files are the longest that occur."""

_WINDOW = 1 << 17  # bytes in which strings are found together

_U32 = struct.Struct("<I")
_U64 = struct.Struct("<Q")


class Cursor:
    """Reads little-endian fields one after another; a failure is a BadModelFile with file, offset, found, expected."""

    def __init__(self, path: Path, buffer: mmap.mmap) -> None:
        self.path = path
        self.buffer = buffer
        self.size = len(buffer)
        self.end = min(self.size, MAX_HEADER_BYTES)
        self.at = 0

    def fail(self, offset: int, found: str, expected: str) -> NoReturn:
        message = f"at byte {offset}: found {_printable(found)}, expected {_printable(expected)}"
        raise BadModelFile(f"{self.path}: {message}")

    def skip(self, count: int, what: str) -> int:
        """Step over `count` bytes, which must all be in the file; returns where they start."""
        start = self.at
        if count > self.end - start:
            self.fail(start, f"the end ({self.end} bytes, file or cap of a header)", f"{count} bytes of {what}")
        self.at = start + count
        return start

    def u32(self, what: str) -> int:
        value: int = _U32.unpack_from(self.buffer, self.skip(4, what))[0]
        return value

    def u64(self, what: str) -> int:
        value: int = _U64.unpack_from(self.buffer, self.skip(8, what))[0]
        return value

    def count(self, what: str, cap: int, least_bytes: int) -> int:
        """A number of things to come, each of `least_bytes` or more: within `cap` and what the file can hold."""
        start = self.at
        value = self.u64(f"the number of {what}")
        limit = min(cap, (self.end - self.at) // least_bytes)
        if value > limit:
            left = self.end - self.at
            self.fail(start, f"{value} {what}", f"at most {limit} (the cap is {cap}, {left} bytes are left)")
        return value

    def string(self, what: str, cap: int = MAX_STRING_BYTES) -> str:
        length = self.count(f"bytes of {what}", cap, 1)
        start = self.skip(length, what)
        return self._decode(start, length, what)

    def strings(self, count: int, what: str) -> list[str]:
        """Reads `count` strings. Raises BadModelFile where they do not fit."""
        result: list[str] = []
        while (left := count - len(result)) > 0:
            size = min(_WINDOW, self.end - self.at, (left + 1) * (8 + LONGEST))
            found, bytes_ = short_strings(np.frombuffer(self.buffer, np.uint8, size, self.at), left)
            stop = self.at + size
            self.at += bytes_
            result += found
            if len(found) < left:
                result += self._one_by_one(left - len(found), stop, what)
        return result

    def _one_by_one(self, count: int, stop: int, what: str) -> list[str]:
        """The next string, and more while they begin before `stop`, `count` at most; in one loop without calls."""
        buffer, end, at = self.buffer, self.end, self.at
        result: list[str] = []
        while not result or (len(result) < count and at < stop):
            start = at + 8
            if start > end:
                self.fail(at, f"the end ({end} bytes, file or cap of a header)", f"the length of a string of {what}")
            length = _U64.unpack_from(buffer, at)[0]
            if length > end - start or length > MAX_STRING_BYTES:
                self.fail(at, f"a string of {length} bytes in {what}", f"at most {min(end - start, MAX_STRING_BYTES)}")
            at = start + length
            try:
                result.append(str(buffer[start:at], "utf-8"))
            except UnicodeDecodeError:
                self._decode(start, length, what)
        self.at = at
        return result

    def _decode(self, start: int, length: int, what: str) -> str:
        try:
            return str(self.buffer[start : start + length], "utf-8")
        except UnicodeDecodeError as error:
            byte = self.buffer[start + error.start]
            self.fail(start + error.start, f"byte 0x{byte:02x} ({error.reason}) in {what}", "UTF-8")


def _printable(text: str) -> str:
    """Names come from the file: no line breaks, no terminal controls, no megabytes in a message."""
    short = text if len(text) <= 240 else text[:240] + "…"
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short)


LONGEST = 255
"""Bytes of such a string: seven of the eight bytes of its length are zero."""
_BEFORE = 8


def short_strings(window: NDArray[np.uint8], count: int) -> tuple[list[str], int]:
    """The first strings in these bytes of a file, at most `count`, and the bytes that they take: those up to one that
    is empty or longer, or has no other behind it. None at all where that cannot be told so quickly."""
    zero = window == 0
    two = zero[:-1] & zero[1:]
    four = two[:-2] & two[2:]
    starts = np.flatnonzero(four[:-3] & four[3:]) - 1  # where seven zeros follow
    if not starts.size or starts[0] != 0:
        return [], 0
    is_next = starts[1:] == (starts + window[starts] + _BEFORE)[:-1]
    found = min(count, is_next.size if is_next.all() else int(is_next.argmin()))
    size = int(starts[found]) if found else 0
    if not found or np.count_nonzero(zero[:size]) != (_BEFORE - 1) * found:  # a zero in a text
        return [], 0
    part = window[:size].copy()
    part[starts[:found]] = 0
    try:
        return str(part.data[_BEFORE:], "utf-8").split("\0" * _BEFORE), size
    except UnicodeDecodeError:
        return [], 0
