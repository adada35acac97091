"""One strict reader of YAML: bytes to plain values, with the line and column of every key and value.

Scalars mean what the core schema of YAML 1.2 says (so `NO`, `on`, `12:30` and dates are text). Refused, although YAML
has them: aliases and anchors (a few bytes of them can unfold to gigabytes), tags, duplicate keys, several documents,
and what exceeds the caps below.
"""

import hashlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from jobs.errors import ConfigError, Problem, Steps
from jobs.visible import quoted

MAX_BYTES = 2**20
MAX_DEPTH = 32


@dataclass(frozen=True)
class Place:
    """Where something stands; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A YAML file as read. `keys` and `values` say where the key and the value at a path stand; () is the file."""

    name: str
    sha256: str
    value: dict[str, Any]
    keys: dict[Steps, Place]
    values: dict[Steps, Place]

    def problem(self, path: Steps, found: str, expected: str | None = None, remedy: str | None = None) -> Problem:
        """A problem with the value at `path`, or with the nearest thing around it where there is no such value."""
        place = next(self.values[path[:n]] for n in range(len(path), -1, -1) if path[:n] in self.values)
        if path not in self.values and path[:-1] in self.keys and not isinstance(self.at(path[:-1]), str):
            place = self.keys[path[:-1]]  # a missing key is best shown at the key whose mapping lacks it
        return Problem(self.name, found, expected, remedy, place.line, place.column)

    def at(self, path: Steps) -> Any:
        """The value at a path of the file."""
        value: Any = self.value
        for step in path:
            value = value[step]
        return value

    def problem_with_key(self, path: Steps, found: str, expected: str, remedy: str | None) -> Problem:
        """A problem with the key at `path` itself."""
        place = self.keys[path]
        return Problem(self.name, found, expected, remedy, place.line, place.column)


def read_source(path: Path, name: str) -> Source:
    """The file at `path`, called `name` in messages. ConfigError."""
    if path.exists() and not path.is_file():
        found = "a folder, not a file" if path.is_dir() else "not a regular file"
        raise ConfigError(Problem(name, found, "a YAML file", "move it away"))
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(Problem(name, f"cannot be read: {error.strerror}", "a YAML file")) from error
    return parse_source(data, name)


def parse_source(data: bytes, name: str) -> Source:
    """The bytes of a YAML file whose top level is a mapping. ConfigError."""
    if len(data) > MAX_BYTES:
        raise ConfigError(Problem(name, "larger than 1 MiB", "a file of at most 1 MiB"))
    text = _decode(data, name)
    composer = _Composer(name)
    try:
        for event in YAML(typ="safe", pure=True).parse(io.StringIO(text)):
            composer.take(event)
    except MarkedYAMLError as error:
        raise ConfigError(_syntax_problem(name, text, error)) from None
    except ReaderError as error:
        raise ConfigError(_at(name, text, error.position, "a character that YAML does not allow", "text")) from None
    value = composer.document
    if not isinstance(value, dict):
        found = "the file is empty" if value is None else f"{describe(value)} at the top level"
        raise ConfigError(Problem(name, found, "a mapping of keys to values", line=1, column=1))
    return Source(name, hashlib.sha256(data).hexdigest(), value, composer.keys, composer.values)


def describe(value: Any) -> str:
    """A value as a message names it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return f"the value {str(value).lower()}"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {quoted(value if len(value) <= 60 else value[:57] + '...')}"
        case dict():
            return "a mapping"
        case list():
            return f"a list of {len(value)}"
    raise TypeError(f"{type(value).__name__} does not come from YAML")


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        found = f"the byte 0x{data[error.start]:02x}, which is not UTF-8"
        problem = _at(name, before, len(before), found, "UTF-8 text", "save the file with the encoding UTF-8")
        raise ConfigError(problem) from None


def _at(name: str, text: str, offset: int, found: str, expected: str, remedy: str | None = None) -> Problem:
    before = text[:offset]
    return Problem(name, found, expected, remedy, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def _syntax_problem(name: str, text: str, error: MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    lines = text.splitlines()
    rest = lines[line][column:] if line < len(lines) else ""
    before = lines[line][:column] if line < len(lines) else ""
    if "\t" in before + rest[:1] and not before.strip():
        column, expected, remedy = before.find("\t") if "\t" in before else column, "spaces", "indent with spaces only"
        return Problem(name, "a tab in the indentation", expected, remedy, line + 1, column + 1)
    if mark and error.context_mark and not text[mark.index :].strip():  # it was opened somewhere and never closed
        line, column = error.context_mark.line, error.context_mark.column
    if escape := re.match(r"found unknown escape character (.*)", error.problem or ""):
        whole = re.match(r'"[^"\n]*"', text[error.context_mark.index :]) if error.context_mark else None
        shown = f": '{whole[0][1:-1]}'" if whole and "'" not in whole[0] else ""
        found = f"not YAML: \\{escape[1].strip(chr(39))} in double quotes, in which \\ begins an escape"
        return Problem(name, found, "a text as it is", f"use single quotes{shown}", line + 1, column)
    special = re.match(r"[*&@`%!|>]", rest or " ") or re.match(r"[*&!]", before[-1:] or " ")
    remedy = "put the whole value in quotes" if special else "check indentation, colons, brackets and quotes there"
    what = ": ".join(part for part in (error.context, error.problem) if part)
    return Problem(name, f"not YAML: {what}", None, remedy, line + 1, column + 1)


class _Composer:
    """Builds plain values from parser events, on a stack of its own, so that depth costs no recursion."""

    def __init__(self, name: str) -> None:
        self.document: Any = None
        self.keys: dict[Steps, Place] = {}
        self.values: dict[Steps, Place] = {(): Place(1, 1)}
        self._name = name
        self._open: list[tuple[Steps, dict[str, Any] | list[Any]]] = []
        self._key: str | None = None
        self._documents = 0

    def take(self, event: Event) -> None:
        """One event. ConfigError for what this reader refuses."""
        match event:
            case DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._refuse(event, "a second document ('---')", "one document", "make it a file of its own")
            case NodeEvent():
                self._take_node(event)
            case CollectionEndEvent():
                self._open.pop()

    def _take_node(self, event: NodeEvent) -> None:
        if isinstance(event, AliasEvent) or event.anchor:
            self._refuse(
                event, "an anchor or alias ('&' or '*')", "the value itself", "write the value out, or quote it"
            )
        tag = getattr(event, "tag", None)
        if tag is not None and str(tag) not in ("None", "!"):
            self._refuse(event, f"the tag {tag}", "a value without a tag", "remove the tag")
        if len(self._open) >= MAX_DEPTH:
            self._refuse(event, f"nesting deeper than {MAX_DEPTH}", "a flat file", None)
        if self._open and isinstance(self._open[-1][1], dict) and self._key is None:
            self._take_key(event)
            return
        path = self._place_value(event)
        match event:
            case MappingStartEvent():
                self._put({}, path)
            case SequenceStartEvent():
                self._put([], path)
            case ScalarEvent():
                plain = not event.style and event.implicit[0]
                self._put(_resolve(event.value) if plain else event.value, path)

    def _take_key(self, event: NodeEvent) -> None:
        path, mapping = self._open[-1]
        if not isinstance(event, ScalarEvent):
            self._refuse(event, "a key that is a mapping or a list", "a word as key", None)
        key = str(event.value)
        if key in mapping:
            first = self.keys[(*path, key)]
            found = f"the key {key!r} a second time (first in line {first.line}, column {first.column})"
            self._refuse(event, found, "each key once", "remove one of the two")
        self.keys[(*path, key)] = _place(event)
        self._key = key

    def _place_value(self, event: NodeEvent) -> Steps:
        if not self._open:
            return ()
        parent, container = self._open[-1]
        path = (*parent, len(container) if isinstance(container, list) else str(self._key))
        absent = isinstance(event, ScalarEvent) and event.start_mark.index == event.end_mark.index
        self.values[path] = self.keys[path] if absent and path in self.keys else _place(event)
        return path

    def _put(self, value: Any, path: Steps) -> None:
        if not self._open:
            self.document = value
        else:
            container = self._open[-1][1]
            if isinstance(container, dict):
                container[str(path[-1])] = value
            else:
                container.append(value)
        self._key = None
        if isinstance(value, (dict, list)):
            self._open.append((path, value))

    def _refuse(self, event: Event, found: str, expected: str, remedy: str | None) -> NoReturn:
        place = _place(event)
        raise ConfigError(Problem(self._name, found, expected, remedy, place.line, place.column))


def _place(event: Event) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)


_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def _resolve(text: str) -> Any:
    """A plain scalar by YAML 1.2.2, section 10.3.2.

    Text, because no key takes them as numbers: octal, hexadecimal, .inf, .nan, and what is longer than any number (a
    sha256 may consist of digits).
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if len(text) <= 30 and _FLOAT.fullmatch(text):
        return float(text)
    return text
