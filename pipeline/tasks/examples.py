"""Examples (a folder of folders, or a CSV or JSONL file with a line for each document) and lessons in them."""

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pipeline.document import Parsed, Span
from pipeline.heads import HeadFile
from pipeline.tasks.kinds import Embedder

SOURCES: Final = ("text", "document")  # keys for a document: it itself, or the path of its file
_MOST: Final = 1 << 30  # characters of a field in a CSV file, of which csv by itself takes 131,072
_QUOTED: Final = 'put a text with commas or line ends into quotes: "one, two"'
_TOGETHER: Final = 512  # texts that are embedded in one go
_WORD: Final = re.compile(r"\w+")
Taught = TypeVar("Taught")


@dataclass(frozen=True)
class Example(Generic[Taught]):
    """A document with what it teaches: its `text`, or the `path` of its file. `place`: where it is said, for people."""

    place: str
    taught: Taught
    text: str | None = None
    path: Path | None = None


@dataclass(frozen=True)
class Mistake:
    """A mistake in an example: where it is, what was found, what is expected there, and what helps."""

    where: str
    found: str
    expected: str | None = None
    remedy: str | None = None


class ExamplesRefusedError(Exception):
    """Nothing can be learned from the examples as they are; all mistakes that were found."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        super().__init__("; ".join(f"{one.where}: {one.found}" for one in mistakes))
        self.mistakes = tuple(mistakes)


def refused(where: str, found: str, expected: str | None = None, remedy: str | None = None) -> ExamplesRefusedError:
    """The error with one mistake."""
    return ExamplesRefusedError([Mistake(where, found, expected, remedy)])


@dataclass(frozen=True)
class Given:
    """A line of a file of examples: its values by key, and the document that it names or holds."""

    place: str
    values: dict[str, Any]
    text: str | None
    path: Path | None


def files_of(folder: Path) -> Iterator[tuple[Path, Path]]:
    """The files below a folder in sorted order, each with its path from there, but for hidden ones."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and not any(part.startswith(".") for part in inner.parts):
            yield path, inner


def check_file(source: Path, keys: str) -> None:
    """ExamplesRefusedError unless there is such a file; `keys`: all that a line of it must have, in words."""
    if not source.is_file():
        found = "a folder" if source.is_dir() else "there is no such file"
        raise refused(str(source), found, f"a CSV or JSONL file with {keys}")


def of_file(file: Path, needed: Sequence[str], keys: str, mistakes: list[Mistake]) -> Iterator[Given]:
    """The lines of a CSV or JSONL file that name a document; what is wrong with others is put to the mistakes.

    `needed`: keys of which a CSV file must have one as a column; `keys`: all that a line must have, in words. Raises
    ExamplesRefusedError for a file that cannot be read at all.
    """
    text = decoded(file)
    is_jsonl = file.suffix.lower() in (".jsonl", ".ndjson")
    lines = _of_jsonl(file, text, keys, mistakes) if is_jsonl else _of_csv(file, text, needed, keys, mistakes)
    for line, values in lines:
        place = f"{file}:{line}"
        said = [name for name in SOURCES if isinstance(values.get(name), str) and values[name]]
        if len(said) != 1:
            mistakes.append(Mistake(place, _told(values, [*needed, *SOURCES]), keys))
        elif said == ["document"]:
            path = file.parent / values["document"]
            if path.is_file():
                yield Given(place, values, None, path)
            else:
                mistakes.append(Mistake(place, f"there is no file {path}", "a path from the folder of this file"))
        elif not values["text"].strip():
            mistakes.append(Mistake(place, "a text that says nothing"))
        else:
            yield Given(place, values, values["text"], None)


def decoded(file: Path) -> str:
    """The text of a file. ExamplesRefusedError for one that cannot be read, and for bytes that are no UTF-8."""
    try:
        data = file.read_bytes()
    except OSError as error:
        remedy = "allow the user who runs cloister to read it"
        raise refused(str(file), f"cannot be read: {error.strerror}", remedy=remedy) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refused(f"{file}:{line}", f"the byte 0x{data[error.start]:02x}, which is no UTF-8", "UTF-8",
                      _recoded(data, file.name)) from error  # fmt: skip


def _recoded(data: bytes, name: str) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return f"iconv -f utf-16 -t utf-8 {name}"
    return f"iconv -f latin1 -t utf-8 {name}, if it is Latin-1"


def _of_csv(
    file: Path, text: str, needed: Sequence[str], keys: str, mistakes: list[Mistake]
) -> Iterator[tuple[int, dict[str, Any]]]:
    csv.field_size_limit(_MOST)
    reader, line = csv.reader(io.StringIO(text, newline=""), strict=True), 1
    try:
        names = next(reader, [])
        _check_header(file, names, needed, keys)
        line = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(names):
                found, expected = f"cells: {len(cells)}", f"{len(names)}, as in the header"
                mistakes.append(Mistake(f"{file}:{line}", found, expected, _QUOTED))
            elif cells:
                yield line, dict(zip(names, cells, strict=True))
            line = reader.line_num + 1
    except csv.Error as error:
        mistakes.append(Mistake(f"{file}:{line}", f"no CSV: {error}"))


def _check_header(file: Path, names: Sequence[str], needed: Sequence[str], keys: str) -> None:
    if not set(needed) & set(names) or not set(SOURCES) & set(names):
        commas = "separate the columns by commas" if len(names) == 1 and set(";\t") & set(names[0]) else None
        raise refused(f"{file}:1", f"the columns {', '.join(names) or 'none'}", f"a header with {keys}", commas)
    if twice := [name for index, name in enumerate(names) if name in names[:index]]:
        raise refused(f"{file}:1", f"the column {twice[0]!r} twice", "each column once", "remove or rename one of them")


def _of_jsonl(file: Path, text: str, keys: str, mistakes: list[Mistake]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
            json.dumps(values, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            found = f"the escape \\u{ord(error.object[error.start]):04x}, which is half a character"
            mistakes.append(Mistake(f"{file}:{number}", found, "pairs of surrogates, such as \\ud83d\\ude00"))
            continue
        except (ValueError, RecursionError) as error:
            mistakes.append(Mistake(f"{file}:{number}", f"no JSON: {error}"))
            continue
        if isinstance(values, dict):
            yield number, values
        else:
            mistakes.append(Mistake(f"{file}:{number}", f"a JSON {type(values).__name__}", f"an object with {keys}"))


def _told(values: dict[str, Any], keys: Sequence[str]) -> str:
    """The keys that a line has, of those that it may have, in words."""
    wanted = list(dict.fromkeys(keys))
    said = [name for name in wanted if values.get(name)]
    if not said:
        return "neither of them" if len(wanted) == 2 else "none of them"
    return f"only {said[0]}" if len(said) == 1 else " and ".join(said) if len(said) == 2 else ", ".join(said)


@dataclass(frozen=True)
class Read(Generic[Taught]):
    """An example with its text."""

    example: Example[Taught]
    document: Parsed


class Reads(Protocol):
    """Reads the documents of examples as documents of the job are read."""

    def __call__(self, examples: Sequence[Example[Taught]], told: Callable[[Taught], str], /) -> list[Read[Taught]]:
        """The examples with their texts; of the same text that teaches the same only the first. ExamplesRefusedError
        for documents that cannot be read, and for one text that teaches two things, which are `told` to a person."""


Progress = Callable[[int, int], None]


class Measured(Protocol):
    """Figures from examples that the head had not seen: a frozen dataclass, whose fields are JSON values."""

    def told(self) -> Iterator[tuple[str, str]]:
        """The figures for a person: what each is called, and what it is."""


@dataclass(frozen=True)
class Learned:
    """The result of learning: the head with its own facts and arrays, and how good it is."""

    head: HeadFile
    measured: Measured


@dataclass(frozen=True, kw_only=True)
class Lesson(Generic[Taught]):
    """Examples of one task, which were read and found to be as they must be, each text once. `given`: how many there
    were, those included whose text came twice; `skipped`: values that were left out."""

    read: Sequence[Read[Taught]]
    given: int
    skipped: Sequence[Mistake] = ()

    def teaches(self) -> list[Any]:
        """What each example teaches, as JSON values: with the texts they are what the head is made from."""
        return [one.example.taught for one in self.read]

    def learn(self, model: Any, progress: Progress) -> Learned:
        """Learn from the examples, on a model of the kind that the lesson is for."""
        raise NotImplementedError


def vectors_of(
    documents: Sequence[Parsed], spans: Sequence[Sequence[Span]], model: Embedder, progress: Progress
) -> list[NDArray[np.float32]]:
    """For each document the vectors of its spans, float32 [spans, d]."""
    texts, ends = list[str](), [0]
    for document, its in zip(documents, spans, strict=True):
        texts += [document.text[span.start : span.end] for span in its]
        ends.append(len(texts))
    vectors = list[NDArray[np.float32]]()
    for first in range(0, len(texts), _TOGETHER):
        progress(first, len(texts))
        vectors.append(model.embed(texts[first : first + _TOGETHER]))
    progress(len(texts), len(texts))
    together = np.concatenate(vectors)
    return [together[start:end] for start, end in pairwise(ends)]


def tokens_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(text.lower())


def f1(a: Counter[str], b: Counter[str], least: float = 0.0) -> float:
    """Token F1 of two bags of words (Rajpurkar et al. 2016); 0 where it is surely less than `least`."""
    of_a, of_b = a.total(), b.total()
    if not of_a or not of_b or 2 * min(of_a, of_b) < least * (of_a + of_b):
        return 0.0
    small, large = (a, b) if len(a) < len(b) else (b, a)
    both = sum(min(count, large[word]) for word, count in small.items() if word in large)
    return 2 * both / (of_a + of_b)
