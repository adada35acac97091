"""Texts without labels from a file of the user: golden texts, and documents on which two models are compared."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipeline.learn.examples import ExamplesRefusedError, Mistake

TABLES: Final = (".csv", ".jsonl", ".ndjson")
_FORM: Final = "a column `text` or `document`"


@dataclass(frozen=True)
class Given:
    """A text, or the `path` of a document; `place` is where it is said, for people."""

    place: str
    text: str | None = None
    path: Path | None = None


def read_lines(file: Path) -> list[Given]:
    """The texts of a text file, a line each, or of a CSV or JSONL file with a column `text`. ExamplesRefusedError for
    what is no such file, OSError."""
    if file.suffix.lower() in TABLES:
        found = list(_of_table(file))
        mistakes = [Mistake(one.place, "a document", "a text in the column `text`") for one in found if one.path]
    else:
        lines = enumerate(_decoded(file).splitlines(), start=1)
        found = [Given(f"{file}:{number}", line.strip()) for number, line in lines if line.strip()]
        mistakes = []
    if not found:
        mistakes.append(Mistake(str(file), "no text", "a text in each line, or a CSV or JSONL file with `text`"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return found


def read_given(source: Path) -> list[Given]:
    """The documents of a folder, of a CSV or JSONL file with a column `text` or `document`, or the one document that
    the file is; other columns, such as labels, play no part. ExamplesRefusedError, OSError."""
    if not source.exists():
        raise _refused(str(source), "there is no such file or folder", "documents, or a CSV or JSONL file with them")
    if source.is_dir():
        hidden = (path for path in sorted(source.rglob("*")) if path.is_file())
        inner = ((path, path.relative_to(source)) for path in hidden)
        found = [Given(str(name), path=path) for path, name in inner if not any(p.startswith(".") for p in name.parts)]
    elif source.suffix.lower() in TABLES:
        found = list(_of_table(source))
    else:
        found = [Given(source.name, path=source)]
    if not found:
        raise _refused(str(source), "no document", "at least one")
    return found


def _of_table(file: Path) -> Iterator[Given]:
    text = _decoded(file)
    mistakes, read = list[Mistake](), _of_csv if file.suffix.lower() == ".csv" else _of_jsonl
    for line, values in read(file, text, mistakes):
        place = f"{file}:{line}"
        said = {name: values[name] for name in ("text", "document") if isinstance(values.get(name), str)}
        said = {name: value for name, value in said.items() if value.strip()}
        if len(said) != 1:
            mistakes.append(Mistake(place, " and ".join(said) or "neither of them", f"{_FORM}, and not both"))
        elif "text" in said:
            yield Given(place, said["text"])
        elif (path := file.parent / said["document"]).is_file():
            yield Given(place, path=path)
        else:
            mistakes.append(Mistake(place, f"there is no file {path}", "a path from the folder of this file"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)


def _of_csv(file: Path, text: str, mistakes: list[Mistake]) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    names = reader.fieldnames or []
    if not {"text", "document"} & set(names):
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
            mistakes.append(Mistake(f"{file}:{number}", f"a JSON {type(values).__name__}", "an object"))


def _decoded(file: Path) -> str:
    data = file.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{data[error.start]:02x}, which is no UTF-8"
        raise _refused(f"{file}:{line}", found, "UTF-8", "save the file with the encoding UTF-8") from error


def _refused(where: str, found: str, expected: str, remedy: str | None = None) -> ExamplesRefusedError:
    return ExamplesRefusedError([Mistake(where, found, expected, remedy)])
