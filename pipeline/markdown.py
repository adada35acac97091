"""One Markdown file a document, for a person: the answer first, then where it stands, then what made it."""

from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]


def format_markdown(row: Row, job: str) -> str:
    """The whole file; ends with a newline."""
    blocks = [f"# {_escape(row['path'])}", *_answer(row), *_evidence(row), *_origin(row, job)]
    return "\n\n".join(blocks) + "\n"


def _answer(row: Row) -> Iterable[str]:
    if row["state"] == "abstained":
        yield f"**No answer**: {_escape(row['reason'] or '')}"
    if row.get("label"):
        yield f"**{_escape(row['label'])}** ({row['score']:.2f})"
    if row.get("scores"):
        yield _table(("label", "score"), ((s["label"], f"{s['score']:.3f}") for s in row["scores"]))
    if row.get("fields"):
        yield _table(("field", "value", "as written", "place", "score"), map(_field, row["fields"]))
    if row.get("summary"):
        yield _escape(row["summary"])


def _field(field: Row) -> tuple[str, ...]:
    score = "" if field["score"] is None else f"{field['score']:.2f}"
    value = field["value"] if field["value"] is not None else f"*{field['note'] or 'absent'}*"
    return field["name"], value, field["verbatim"] or "", _place(field["evidence"]), score


def _place(passage: Row | None) -> str:
    if passage is None:
        return ""
    page = f"page {passage['page']}, " if passage["page"] else ""
    return f"{page}characters {passage['start']} to {passage['end']}"


def _evidence(row: Row) -> Iterable[str]:
    """The passages that the answer rests on; those of fields stand beside their values already."""
    for passage in () if row.get("fields") else row.get("evidence") or ():
        text = "\n".join(f"> {_escape(line)}" for line in passage["text"].splitlines())
        yield f"{text}\n>\n> ({_place(passage)})"


def _origin(row: Row, job: str) -> Iterable[str]:
    for note in row.get("notes") or ():
        yield f"Note: {_escape(note)}"
    yield _table(
        ("", ""),
        (
            ("job", job),
            ("document", row["document"]),
            ("log entry", str(row["audit_index"])),
            ("run", row["run"]),
            ("model", row["model_sha256"]),
            ("made by", row["software"]),
        ),
    )


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(_escape(cell).replace("\n", " ") for cell in line) + " |" for line in lines)


def _escape(text: str) -> str:
    """Document text must not become markup of ours."""
    for character in ("\\", "|", "<", "`", "[", "#"):
        text = text.replace(character, "\\" + character)
    return text
