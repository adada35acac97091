"""Writes the demo documents from their sources: python tests/corpus/make_demo.py [FOLDER]

Each file under sources/JOB becomes the document that its `Path` header names under FOLDER/JOB, in the format of `As`
or else of the path's ending; sources without a `Path` are attached to others. What a person expects of each document
goes into FOLDER/expected.json. The same sources give the same bytes; the documents are committed, so that the demo
needs no library that writes them.
"""

import json
import sys
from pathlib import Path
from typing import Any

from markup import Source, read_source
from writers import WRITERS

_HERE = Path(__file__).parent
# Beside the sources: files without any text to write, and a copy.
_EMPTY = {"invoice-fields": "scans/scan_0023.pdf"}
_COPIES = {
    "correspondence-triage": ("contracts/NDA Hartwell - Lumen Optics.docx", "post/Scan 0017 (signed).docx"),
}


def main(folder: Path) -> None:
    """Write every document and expected.json under `folder`."""
    expected: dict[str, dict[str, Any]] = {}
    for job in sorted(path for path in (_HERE / "sources").iterdir() if path.is_dir()):
        sources = [read_source(path) for path in sorted(job.iterdir())]
        expected[job.name] = write_job(folder / job.name, [source for source in sources if "Path" in source.headers])
    text = json.dumps(expected, indent=2, ensure_ascii=False, sort_keys=True)
    (folder / "expected.json").write_text(text + "\n", "utf-8")


def write_job(folder: Path, sources: list[Source]) -> dict[str, dict[str, Any]]:
    """Write the documents of one job; path → what is expected."""
    expected = {}
    for source in sources:
        path = source.headers["Path"]
        kind = source.headers.get("As", path.rpartition(".")[2])
        _write(folder / path, WRITERS[kind](source))
        expected[path] = expectation(source) | {"format": kind}
        for name, attached in source.attached.items():
            expected[f"{path}!/{name}"] = expectation(attached) | {"format": name.rpartition(".")[2]}
    if folder.name in _EMPTY:
        _write(folder / _EMPTY[folder.name], b"")
        expected[_EMPTY[folder.name]] = {"state": "failed", "failure": "empty"}
    if folder.name in _COPIES:
        original, copy = _COPIES[folder.name]
        _write(folder / copy, (folder / original).read_bytes())
        expected[copy] = expected[original] | {"state": "duplicate", "duplicate_of": original}
    return expected


def expectation(source: Source) -> dict[str, Any]:
    """What the headers say a person expects: state, failure, language, label, and fields with value and verbatim."""
    headers = source.headers
    state = headers.get("State", "done")
    told = ("Failure",) if state == "failed" else ("Language", "Label")
    facts = {"state": state} | {key.lower(): headers[key] for key in told if key in headers}
    prefix = "Field-"
    fields = {name.removeprefix(prefix): headers[name] for name in headers if name.startswith(prefix)}
    return facts | ({"fields": {name: _field(source, text) for name, text in fields.items()}} if fields else {})


def _field(source: Source, text: str) -> dict[str, str]:
    """`VALUE = VERBATIM`, or one text that is both; the verbatim text stands in the body, or the source is wrong."""
    value, _, verbatim = text.partition(" = ")
    verbatim = verbatim or value
    if verbatim not in source.body:
        raise ValueError(f"{source.headers['Path']}: {verbatim!r} does not stand in the text")
    return {"value": value, "verbatim": verbatim}


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _HERE / "demo")
