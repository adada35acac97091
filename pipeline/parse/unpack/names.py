"""Names in archives: of files that are no documents, and of what is inside a single compressed file."""

import re
from pathlib import PurePosixPath

from pipeline.parse.writer import clean, one_line
from pipeline.paths.names import leaving, named_by_nobody

_WORDS = 60  # characters of a name made of a title
_NO_NAME = re.compile(r'[/\\:*?"<>|]+')


def left_behind(name: str) -> str | None:
    """The note for a file that no person put there as a document, by its name; None for others."""
    pattern = leaving(name.replace("\\", "/"))
    return f"files with {named_by_nobody(pattern)}, not read" if pattern else None


def printable(name: str) -> str:
    """A name as it can stand in a table. A zero byte stays: it makes a name that is refused."""
    return "\0".join(one_line(clean(part)) for part in name.split("\0"))


def one_name(name: str) -> str:
    """A printable name in which no folder is named."""
    return printable(name).replace("/", "_").replace("\\", "_")


def without_suffix(name: str, suffixes: dict[str, str]) -> str:
    """A file's own name, with its suffix replaced as `suffixes` says; raises nothing."""
    path = PurePosixPath(name.replace("\\", "/"))
    end = suffixes.get(path.suffix.lower())
    return path.stem + end if end is not None and path.stem else path.name or "content"


def from_title(title: str, otherwise: str) -> str:
    """The name of a file or folder made of a title: a few words, and no character that is special in names."""
    words = one_line(_NO_NAME.sub(" ", clean(title)))[:_WORDS].strip(" .")
    return words or otherwise


def left_out(counts: dict[str, int]) -> list[str]:
    """Notes about what was left out, of which there is any."""
    return [f"{what}: {count}" for what, count in counts.items() if count]
