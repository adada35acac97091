"""Texts without labels from a file of the user: golden texts, and documents on which two models are compared."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pipeline.tasks.examples import SOURCES, ExamplesRefusedError, Given, Mistake, decoded, files_of, of_file, refused

TABLES: Final = (".csv", ".jsonl", ".ndjson")
_FORM: Final = "a column `text` or `document`, and not both"


def read_lines(file: Path) -> list[Given]:
    """The texts of a text file, a line each, or of a CSV or JSONL file with a column `text`. ExamplesRefusedError for
    what is no such file, OSError."""
    if file.suffix.lower() in TABLES:
        found = list(_of_table(file))
        mistakes = [Mistake(one.place, "a document", "a text in the column `text`") for one in found if one.path]
    else:
        lines = enumerate(decoded(file).splitlines(), start=1)
        found = [Given(f"{file}:{number}", {}, line.strip(), None) for number, line in lines if line.strip()]
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
        raise refused(str(source), "there is no such file or folder", "documents, or a CSV or JSONL file with them")
    if source.is_dir():
        found = [Given(str(inner), {}, None, path) for path, inner in files_of(source)]
    elif source.suffix.lower() in TABLES:
        found = list(_of_table(source))
    else:
        found = [Given(source.name, {}, None, source)]
    if not found:
        raise refused(str(source), "no document", "at least one")
    return found


def _of_table(file: Path) -> Iterator[Given]:
    mistakes = list[Mistake]()
    yield from of_file(file, SOURCES, _FORM, mistakes)
    if mistakes:
        raise ExamplesRefusedError(mistakes)
