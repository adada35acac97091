"""Evaluation examples: documents with their label, the values of their fields, or their summary.

A folder for each label, or a CSV or JSONL file with a line for each document: `text`, or `document`, the path of a file
from the folder of this one; and `label`; or for each field a column of its name, in JSONL the object `fields`; or
`summary`. A field that is empty or null is absent in the document; one that is not said at all is not measured there.
In JSONL a value and a summary may be a list, of which any is right.
"""

import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import audit
from pipeline.learn.examples import Example, ExamplesRefusedError, Mistake, read_examples
from pipeline.paths.digest import file_sha256
from pipeline.tasks import ClassifySettings, ExtractSettings, SummarizeSettings, Task

_JSON: Final = (".jsonl", ".ndjson")
Values = dict[str, Any]


@dataclass(frozen=True)
class Truth:
    """A document, and what is known of it: its label in `example`; or field -> the values that are right, none where it
    is absent; or the summaries that are right."""

    example: Example
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    summaries: tuple[str, ...] = ()

    @property
    def said(self) -> object:
        """What is known, to tell whether two examples say the same."""
        return [self.example.label, sorted(self.fields.items()), self.summaries]


def read_truths(source: Path, task: Task) -> list[Truth]:
    """The examples of a file or folder for a task. ExamplesRefusedError names each mistake; OSError."""
    match task:
        case ClassifySettings():
            labels = [label.name for label in task.labels]
            found = [Truth(example) for example in read_examples(source, labels)]
            if len({one.example.label for one in found}) == 1:
                told = f"only the label {found[0].example.label!r}, of {len(found)} examples"
                raise ExamplesRefusedError([Mistake(str(source), told, "documents of two labels at least")])
        case ExtractSettings():
            found = _of_lines(source, _Fields([field.name for field in task.fields]))
        case SummarizeSettings():
            found = _of_lines(source, _Summary())
        case _:
            raise ExamplesRefusedError(
                [Mistake(str(source), "the job has another task", "classify, extract, summarize")]
            )
    if not found:
        raise ExamplesRefusedError([Mistake(str(source), "no examples", "documents whose answers are known")])
    return found


def eval_digest(source: Path, truths: Sequence[Truth]) -> str:
    """The sha256 over the evaluation file and all documents that it names, wherever they lie."""
    own = file_sha256(source) if source.is_file() else ""
    documents = [
        [one.example.label, _name(one.example.path, source), file_sha256(one.example.path)]
        for one in truths
        if one.example.path
    ]
    return hashlib.sha256(audit.canonical([own, documents])).hexdigest()


def _name(path: Path, source: Path) -> str:
    """The path of a document from the folder of the examples, as text."""
    folder = source if source.is_dir() else source.parent
    return str(path.relative_to(folder)).encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass(frozen=True)
class _Fields:
    """Reads the values of fields."""

    names: Sequence[str]

    def columns(self, names: Sequence[str]) -> bool:
        """Whether a CSV file with these columns can be read."""
        return bool(set(names) & set(self.names)) or "fields" in names

    def form(self) -> str:
        """What a line has, in words."""
        return f"text or document, and columns of fields ({', '.join(self.names)}) or, in JSONL, the object fields"

    def truth(self, example: Example, values: Values) -> Truth | str:
        """The truth of a line, or what is wrong with it."""
        said = values.get("fields", {name: value for name, value in values.items() if name in self.names})
        if not isinstance(said, dict) or not said:
            return "no fields"
        if unknown := [name for name in said if name not in self.names]:
            return f"the field {unknown[0]!r}"
        listed = {name: _listed(value) for name, value in said.items()}
        wrong = [name for name, its in listed.items() if its is None]
        if wrong:
            return f"a value of the field {wrong[0]!r} that is no text"
        return Truth(example, {name: its for name, its in listed.items() if its is not None})


@dataclass(frozen=True)
class _Summary:
    """Reads reference summaries."""

    def columns(self, names: Sequence[str]) -> bool:
        """Whether a CSV file with these columns can be read."""
        return "summary" in names

    def form(self) -> str:
        """What a line has, in words."""
        return "text or document, and summary"

    def truth(self, example: Example, values: Values) -> Truth | str:
        """The truth of a line, or what is wrong with it."""
        summaries = _listed(values.get("summary"))
        return Truth(example, summaries=summaries) if summaries else "no summary"


def _listed(value: Any) -> tuple[str, ...] | None:
    """A value, or a list of values, as texts; none for null and for empty ones. None if it is something else."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    texts = [str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item for item in items]
    if not all(isinstance(text, str) for text in texts):
        return None
    return tuple(text.strip() for text in texts if text.strip())


def _of_lines(source: Path, kind: _Fields | _Summary) -> list[Truth]:
    if not source.is_file():
        found = "a folder" if source.is_dir() else "there is no such file"
        raise ExamplesRefusedError([Mistake(str(source), found, f"a CSV or JSONL file with {kind.form()}")])
    mistakes, truths = list[Mistake](), list[Truth]()
    for line, values in _lines(source, kind, mistakes):
        place = f"{source}:{line}"
        example = _example(source, place, values)
        truth = kind.truth(example, values) if isinstance(example, Example) else example
        if isinstance(truth, Truth):
            truths.append(truth)
        else:
            mistakes.append(Mistake(place, truth, kind.form()))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return truths


def _example(source: Path, place: str, values: Values) -> Example | str:
    """The document of a line, or what is wrong with it."""
    text, document = values.get("text"), values.get("document")
    given = [one for one in (text, document) if isinstance(one, str) and one.strip()]
    if len(given) != 1:
        return "both text and document" if given else "neither text nor document"
    if given[0] is text:
        return Example(place, "", text=text)
    path = source.parent / given[0]
    return Example(place, "", path=path) if path.is_file() else f"there is no file {path}"


def _lines(source: Path, kind: _Fields | _Summary, mistakes: list[Mistake]) -> Iterator[tuple[int, Values]]:
    text = _decoded(source)
    yield from (_json if source.suffix.lower() in _JSON else _csv)(source, text, kind, mistakes)


def _decoded(source: Path) -> str:
    data = source.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{data[error.start]:02x}, which is no UTF-8"
        remedy = f"iconv -f latin1 -t utf-8 {source.name}, if it is Latin-1"
        raise ExamplesRefusedError([Mistake(f"{source}:{line}", found, "UTF-8", remedy)]) from error


def _csv(source: Path, text: str, kind: _Fields | _Summary, mistakes: list[Mistake]) -> Iterator[tuple[int, Values]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    names, line = list(reader.fieldnames or []), 2
    if not kind.columns(names) or not {"text", "document"} & set(names):
        raise ExamplesRefusedError(
            [Mistake(f"{source}:1", f"the columns {', '.join(names) or 'none'}", f"a header with {kind.form()}")]
        )
    try:
        for row in reader:
            yield line, {name: value for name, value in row.items() if name is not None and value is not None}
            line = reader.line_num + 1
    except csv.Error as error:
        mistakes.append(Mistake(f"{source}:{line}", f"no CSV: {error}"))


def _json(source: Path, text: str, kind: _Fields | _Summary, mistakes: list[Mistake]) -> Iterator[tuple[int, Values]]:
    for line, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            values = json.loads(written)
        except (ValueError, RecursionError) as error:
            mistakes.append(Mistake(f"{source}:{line}", f"no JSON: {error}"))
            continue
        if isinstance(values, dict):
            yield line, values
        else:
            mistakes.append(Mistake(f"{source}:{line}", f"a JSON {type(values).__name__}", f"an object: {kind.form()}"))
