"""Elements of the column `fields`: what a model's own head found for a field, or why it has none."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pipeline.document import Parsed
from pipeline.tasks.base import Answer
from pipeline.text.values import Value

Row = dict[str, Any]


def empty(name: str, kind: str, note: str, score: float | None = None) -> Row:
    """The element of a field without a value."""
    nothing = dict.fromkeys(("value", "verbatim", "evidence"))
    return {"name": name, "type": kind, **nothing, "score": score, "note": note}


def filled(name: str, kind: str, document: Parsed, value: Value, score: float, note: str | None = None) -> Row:
    """The element of a field with a value."""
    evidence = document.evidence(value.start, value.end)
    notes = [said for said in (value.note, note) if said]
    return empty(name, kind, "") | {
        "value": value.value, "verbatim": evidence.text, "score": score, "note": "; ".join(notes) or None,
        "evidence": asdict(evidence),
    }  # fmt: skip


def answer_of(document: Parsed, rows: Sequence[Row], reason: str | None = None) -> Answer:
    """The answer with these elements."""
    evidence = [document.evidence(at["start"], at["end"]) for row in rows if (at := row["evidence"])]
    told = reason if evidence else "no field has a value in this document"
    return Answer({"fields": list(rows)}, evidence, abstained=not evidence, reason=told)
