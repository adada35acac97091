"""One Markdown file a document, for a person: the answer first, then where it stands, then what made it."""

import re
from collections.abc import Iterable

from pipeline.document import Evidence, Hidden, Row
from pipeline.parse import KINDS
from pipeline.tasks import Value, kind_of

_SHOWN = {"label", "fields", "values", "summary"}  # columns that have a form of their own; others are shown as lines
_NEWLINE = re.compile(r"\r\n?|\n")
_ANYWHERE = re.compile(r"[\\`*_~{}\[\]<#|]|&(?=[#A-Za-z])")  # an image's "!" is nothing before an escaped bracket
_AT_START = re.compile(r"[0-9]+(?=[.)](?:[ \t]|$))|(?=[-+=>]|:-)")  # a backslash belongs behind it


def format_markdown(row: Row, job: str) -> str:
    """The whole file; ends with a newline."""
    blocks = [f"# {_line(row.path)}", *_answer(row), *_evidence(row), *_origin(row, job)]
    return "\n\n".join(blocks) + "\n"


def _answer(row: Row) -> Iterable[str]:
    if decided := row.decided:
        why = f": {_line(decided.reason)}" if decided.reason else ""
        yield f"**{decided.action.capitalize()}** by {_line(decided.by)}{why}"
    if row.state == "abstained":
        yield f"**No answer**: {_line(row.reason or '')}"
    elif row.reason:
        yield f"**{row.state.capitalize()}**: {_line(row.reason)}"
    if row.get("label"):
        yield f"**{_line(row['label'])}**{_score(row['score'])}"
    if row.get("scores"):
        yield _table(("label", "score"), ((_line(s["label"]), f"{s['score']:.3f}") for s in row["scores"]))
    kind = kind_of(row)
    values = list(kind.values(row)) if kind else []
    if row.get("fields"):
        yield _table(("field", "value", "as written", "place", "score"), map(_field, values))
    if row.get("values"):
        yield _table(("part of the answer", "value", "place", "score"), map(_value, values))
    if row.get("summary"):
        yield _lines(row["summary"])
    if kind and not _SHOWN & {column.name for column in kind.columns}:
        yield from (f"{_line(line.name)} {_line(line.text)}" for line in kind.lines(row))


def _field(field: Value) -> tuple[str, ...]:
    """The cells of a field; a note in the place of a value is in italics."""
    value = _line(field.value) if field.value is not None else f"*{_line(field.note or 'absent')}*"
    score = _score(field.score).strip(" ()")
    return _line(field.name), value, _line(field.verbatim or ""), _place(field.evidence), score


def _value(value: Value) -> tuple[str, ...]:
    """The cells of a value of an answer; nothing is in italics."""
    name = value.name.removeprefix("/").replace("/", " / ").replace("~1", "/").replace("~0", "~")
    said = "*nothing*" if value.value is None else _line(value.value)
    return _line(name), said, _place(value.evidence), _score(value.score).strip(" ()")


def _score(score: float | None) -> str:
    """The score behind an answer; nothing behind one that a person gave."""
    return "" if score is None else f" ({score:.2f})"


def _place(passage: Evidence | None) -> str:
    if passage is None:
        return ""
    page = f"page {passage.page}, " if passage.page else ""
    return f"{page}characters {passage.start} to {passage.end}"


def _evidence(row: Row) -> Iterable[str]:
    """The passages that the answer rests on; those of fields stand beside their values already."""
    for passage in () if row.get("fields") else row.evidence:
        text = "\n".join(f"> {_lines(line)}" for line in passage.text.splitlines())
        yield f"{text}\n>\n> ({_place(passage)})"


def _origin(row: Row, job: str) -> Iterable[str]:
    for note in row.notes or ():
        yield f"Note: {_line(note)}"
    for hidden in (Hidden(**each) for each in row.hidden or ()):
        yield f"Hidden: {KINDS[hidden.kind]}, {hidden.characters} characters"
    yield _table(
        ("", ""),
        (
            ("job", _line(job)),
            ("document", _line(row.document or "")),
            ("log entry", str(row.audit_index)),
            ("run", _line(row.run)),
            ("model", _line(row.model_sha256 or "")),
            ("made by", _line(row.software or "")),
        ),
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _lines(text: str) -> str:
    """Document text as lines of their own, none of which is markup."""
    return "\n".join(_start(_line(line)) for line in _NEWLINE.split(text))


def _line(text: str) -> str:
    """Document text in one line behind text of ours: a heading, a cell, a note. Blanks around it, which can act, go."""
    return _ANYWHERE.sub(r"\\\g<0>", _NEWLINE.sub(" ", text).strip(" \t"))


def _start(line: str) -> str:
    """An escaped line that opens no list, quote or table and underlines no heading."""
    found = _AT_START.match(line)
    return f"{line[: found.end()]}\\{line[found.end() :]}" if found else line


def escaped(text: str) -> str:
    """Text of others in one line of Markdown, in which nothing of it acts."""
    return _line(text)
