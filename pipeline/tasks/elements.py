"""Elements of the column `fields`: what was found for a field, or why it has no value."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import pyarrow as pa

from pipeline.document import Parsed
from pipeline.tasks.base import EVIDENCE, Answer, Window
from pipeline.text.values import Value

Row = dict[str, Any]

ELEMENT: Final = pa.struct(
    [
        ("name", pa.string()),
        ("type", pa.string()),
        ("value", pa.string()),
        ("verbatim", pa.string()),
        ("score", pa.float64()),
        ("note", pa.string()),
        ("evidence", EVIDENCE),
    ]
)


def empty(name: str, kind: str, note: str, score: float | None = None) -> Row:
    """The element of a field without a value."""
    nothing: Row = dict.fromkeys(member.name for member in ELEMENT)
    return nothing | {"name": name, "type": kind, "score": score, "note": note}


def filled(name: str, kind: str, document: Parsed, value: Value, score: float, note: str | None = None) -> Row:
    """The element of a field with a value."""
    evidence = document.evidence(value.start, value.end)
    notes = [said for said in (value.note, note) if said]
    return empty(name, kind, "") | {
        "value": value.value, "verbatim": evidence.text, "score": score, "note": "; ".join(notes) or None,
        "evidence": asdict(evidence),
    }  # fmt: skip


def too_low(nearest: str, score: float) -> str:
    """The note of a field that has candidates, of which the nearest does not score enough."""
    return f"nothing that fits well enough; nearest was {nearest[:80]!r} ({score:.2f})"


def answer_of(
    document: Parsed, rows: Sequence[Row], reason: str | None = None, windows: Sequence[Window] = ()
) -> Answer:
    """The answer with these elements, from the windows of the document that a model that writes has read."""
    evidence = [document.evidence(at["start"], at["end"]) for row in rows if (at := row["evidence"])]
    told = reason if evidence else "no field has a value in this document"
    return Answer({"fields": list(rows)}, evidence, abstained=not evidence, reason=told, windows=windows)
