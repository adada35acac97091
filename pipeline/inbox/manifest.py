"""The lines of a `manifest.sha256`, as `sha256sum` writes them: a sha256, a space, a mark, and a file's name.

The mark is a space for text and `*` for binary mode, which mean the same here. A line that begins with a backslash has
a name in which \\\\, \\n and \\r stand for those characters (coreutils manual, md5sum). Names are any bytes, below the
folder of the manifest. Blank lines say nothing. Each line has an end, so that one that is cut off is not taken for a
whole one; a carriage return before it belongs to it, for `sha256sum` writes one that is in a name as \\r.
"""

import os
import re

from pipeline.text.visible import visible

MANIFEST = "manifest.sha256"
MAX_BYTES = 64 << 20
MAX_LINES = 1_000_000
_LINE = re.compile(rb"(\\?)([0-9a-fA-F]{64}) [ *]([^\0]+)", re.DOTALL)
_ESCAPE = re.compile(rb"\\(.?)", re.DOTALL)
_ESCAPES = {b"\\": b"\\", b"n": b"\n", b"r": b"\r"}
_NAME = 4096  # bytes: PATH_MAX
_SHOWN = 80  # characters of a bad line


class BadManifestError(Exception):
    """The manifest says nothing that can be relied on: line, what was found and what was expected."""

    def __init__(self, line: int, found: str, expected: str) -> None:
        super().__init__(f"{line}: found {found}, expected {expected}")


def parse_manifest(body: bytes) -> dict[str, str]:
    """The sha256 of each file by its name, in the order of the lines. BadManifestError.

    A line for the manifest itself is passed over: `sha256sum * > manifest.sha256` writes one, and it cannot hold.
    """
    if len(body) > MAX_BYTES or body.count(b"\n") > MAX_LINES:
        raise BadManifestError(1, "more", f"at most {MAX_BYTES >> 20} MiB and {MAX_LINES:,} lines")
    *lines, rest = body.split(b"\n")
    if rest:
        raise BadManifestError(len(lines) + 1, f"{_shown(rest)} without a line end", "a line end (is it complete?)")
    files: dict[str, str] = {}
    for number, line in enumerate((line.removesuffix(b"\r") for line in lines), 1):
        if line.strip():
            name, sha256 = _parse_line(number, line)
            if files.setdefault(name, sha256) != sha256:
                raise BadManifestError(number, f"another sha256 of {_shown(os.fsencode(name))}", "every name once")
    if not files:
        raise BadManifestError(1, "no file", "a line for each file of the batch")
    files.pop(MANIFEST, None)
    return files


def _parse_line(number: int, line: bytes) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        expected = "64 hexadecimal digits, two spaces (or a space and *) and a name, as sha256sum writes"
        raise BadManifestError(number, _shown(line), expected)
    name = _ESCAPE.sub(lambda escape: _unescaped(number, escape), match[3]) if match[1] else match[3]
    if len(name) > _NAME:
        raise BadManifestError(number, f"a name of {len(name):,} bytes", f"at most {_NAME:,}")
    parts = [part for part in name.split(b"/") if part != b"."]
    if b".." in parts or b"" in parts or not parts:
        raise BadManifestError(number, _shown(name), "the name of a file in the manifest's folder or below it")
    return os.fsdecode(b"/".join(parts)), match[2].decode().lower()


def _unescaped(number: int, escape: re.Match[bytes]) -> bytes:
    if escape[1] not in _ESCAPES:
        raise BadManifestError(number, _shown(escape[0]), "\\\\, \\n or \\r, for the line begins with a backslash")
    return _ESCAPES[escape[1]]


def _shown(text: bytes) -> str:
    clipped = text[:_SHOWN].decode("utf-8", "backslashreplace")
    return f"'{visible(clipped)}{'…' if len(text) > _SHOWN else ''}'"
