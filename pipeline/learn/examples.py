"""Examples with their labels: a folder for each label, or a CSV or JSONL file with a line for each document."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_KEYS: Final = "label, and text or document"
_FORM: Final = f"a header with {_KEYS}"


@dataclass(frozen=True)
class Example:
    """A document with its label: its `text`, or the `path` of its file. `place` is where it is said, for people."""

    place: str
    label: str
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


def read_examples(source: Path, labels: Sequence[str]) -> list[Example]:
    """The examples of a folder or file, in its order, each with one of the labels. ExamplesRefusedError; OSError."""
    if not source.exists():
        raise _refused(str(source), "there is no such file or folder", f"a folder for each label, or {_FORM}")
    mistakes = list[Mistake]()
    found = list(_of_folder(source) if source.is_dir() else _of_file(source, mistakes))
    known = set(labels)
    mistakes += [
        Mistake(one.place, f"the label {one.label!r}", f"a label of the job: {', '.join(labels)}")
        for one in found
        if one.label not in known
    ]
    mistakes += [
        Mistake(one.place, "a text that says nothing") for one in found if one.text is not None and not one.text.strip()
    ]
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found


def _of_folder(folder: Path) -> Iterator[Example]:
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        if path.is_file() and len(inner.parts) > 1 and not any(part.startswith(".") for part in inner.parts):
            yield Example(str(path), inner.parts[0], path=path)


def _of_file(file: Path, mistakes: list[Mistake]) -> Iterator[Example]:
    text = _decoded(file)
    read = _of_jsonl if file.suffix.lower() in (".jsonl", ".ndjson") else _of_csv
    for line, values in read(file, text, mistakes):
        place, label = f"{file}:{line}", values.get("label")
        said = [values.get("text"), values.get("document")]
        if not isinstance(label, str) or not label or sum(isinstance(one, str) and bool(one) for one in said) != 1:
            mistakes.append(Mistake(place, _told(values), _KEYS))
        elif isinstance(said[1], str) and said[1]:
            path = file.parent / said[1]
            if not path.is_file():
                mistakes.append(Mistake(place, f"there is no file {path}", "a path from the folder of this file"))
            else:
                yield Example(place, label, path=path)
        else:
            yield Example(place, label, text=said[0])


def _decoded(file: Path) -> str:
    data = file.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refused(f"{file}:{line}", f"the byte 0x{data[error.start]:02x}, which is no UTF-8", "UTF-8",
                       f"iconv -f latin1 -t utf-8 {file.name}, if it is Latin-1") from error  # fmt: skip


def _of_csv(file: Path, text: str, mistakes: list[Mistake]) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    names = reader.fieldnames or []
    if "label" not in names or not {"text", "document"} & set(names):
        raise _refused(f"{file}:1", f"the columns {', '.join(names) or 'none'}", _FORM)
    line = 2
    try:
        for row in reader:
            yield line, dict(row)
            line = reader.line_num + 1
    except csv.Error as error:
        mistakes.append(Mistake(f"{file}:{line}", f"no CSV: {error}"))


def _of_jsonl(file: Path, text: str, mistakes: list[Mistake]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError) as error:
            mistakes.append(Mistake(f"{file}:{number}", f"no JSON: {error}"))
            continue
        if isinstance(values, dict):
            yield number, values
        else:
            mistakes.append(Mistake(f"{file}:{number}", f"a JSON {type(values).__name__}", f"an object with {_KEYS}"))


def _told(values: dict[str, Any]) -> str:
    said = [name for name in ("label", "text", "document") if values.get(name)]
    return f"only {' and '.join(said)}" if len(said) == 1 else f"{', '.join(said)}" if said else "none of them"


def _refused(where: str, found: str, expected: str, remedy: str | None = None) -> ExamplesRefusedError:
    return ExamplesRefusedError([Mistake(where, found, expected, remedy)])
