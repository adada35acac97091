"""Extract: for each field, the value of its type that stands where the document speaks of the field.

Values of the type are found in the whole text, each with its place. A value is scored by two things of equal weight:
how near in meaning its passage is to the field's name and description, and how fully the words beside it name the field
(`labels.py`). Of equal scores the earlier place holds. Evidence is the value itself.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer, Embedder, Window
from pipeline.tasks.columns import EVIDENCE
from pipeline.tasks.embedding.labels import Naming, Vocabulary
from pipeline.tasks.embedding.layout import written_labels
from pipeline.tasks.embedding.meanings import Meanings, called
from pipeline.tasks.embedding.passages import passages
from pipeline.tasks.embedding.scene import Found, Scene, Sought
from pipeline.text.values import VALUES, Finder, Value, check_pattern, pattern_finder

LEAST: Final = {  # a value that scores less is not given; chosen by measurement: DECISIONS.md
    "text": 0.2, "date": 0.25, "money": 0.2, "number": 0.4, "percent": 0.35,
    "email": 0.2, "phone": 0.35, "iban": 0.2, "reference": 0.4, "regex": 0.2,
}  # fmt: skip
TELLING: Final = {"email": 0.4, "iban": 0.4, "phone": 0.3, "regex": 0.4, "percent": 0.2}  # what the form alone is worth

Row = dict[str, Any]

OVERLAP: Final = 64  # characters before a cut inside a sentence that are read on both sides: a value and its name


@dataclass(frozen=True)
class Field:
    """A value to look for: its type is one of VALUES, or `regex` with a pattern."""

    name: str
    type: str = "text"
    description: str = ""
    pattern: str | None = None

    def __post_init__(self) -> None:
        types = (*VALUES, "regex")
        if self.type not in types:
            raise ValueError(f"field {self.name!r} has the type {self.type!r}; there are {', '.join(types)}")
        if (self.type == "regex") != (self.pattern is not None):
            raise ValueError(f"field {self.name!r}: a pattern belongs to the type regex, and to it alone")
        if self.pattern is not None:
            check_pattern(self.pattern)


@dataclass(frozen=True)
class ExtractSettings:
    """At least one field; no name twice."""

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        if not names or len(set(names)) < len(names):
            raise ValueError("fields: at least one, and no name twice")


COLUMNS: Final = (
    pa.field(
        "fields",
        pa.list_(
            pa.struct(
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
        ),
    ),
)


class Extract:
    """The task for one list of fields; the vectors of their names and descriptions are made once."""

    def __init__(self, settings: ExtractSettings, model: Embedder) -> None:
        self._model = model
        self._fields = settings.fields
        self._namings = [Naming(field.name, field.description) for field in settings.fields]
        self._finders = [finder(field) for field in settings.fields]
        self._meanings = Meanings([[called(field.name, field.description)] for field in settings.fields], model)

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model, OVERLAP)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        scene = Scene(document.text, spans, Vocabulary(self._namings), written_labels(document))
        sought = [
            Sought(finder, naming, likenesses, TELLING.get(field.type, 0.0))
            for field, finder, naming, likenesses in zip(
                self._fields, self._finders, self._namings, self._meanings.likenesses(vectors), strict=True
            )
        ]
        found = scene.share_out(sought)
        rows = [_row(field, document, choice) for field, choice in zip(self._fields, found, strict=True)]
        return answer_of(document, rows)


def finder(field: Field) -> Finder:
    """What finds values of the field's type."""
    return VALUES[field.type] if field.pattern is None else pattern_finder(field.pattern)


def answer_of(document: Parsed, rows: Sequence[Row], read: Sequence[Window] = ()) -> Answer:
    """The answer with these elements of the column `fields`, from the windows that were read."""
    evidence = [document.evidence(v["start"], v["end"]) for row in rows if (v := row["evidence"])]
    reason = None if evidence else "no field has a value in this document"
    return Answer({"fields": rows}, evidence, abstained=not evidence, reason=reason, windows=read)


def empty_row(field: Field) -> Row:
    """The element of the column `fields` of a field without a value."""
    row: Row = dict.fromkeys(element.name for element in COLUMNS[0].type.value_type)
    return row | {"name": field.name, "type": field.type}


def filled(value: Value, document: Parsed) -> Row:
    """What of such an element a value gives."""
    evidence = document.evidence(value.start, value.end)
    return {"value": value.value, "verbatim": evidence.text, "note": value.note, "evidence": asdict(evidence)}


def _row(field: Field, document: Parsed, found: Found | None) -> Row:
    """The element of the column `fields`: without a value where nothing was found or its score is too low."""
    row = empty_row(field)
    if found is None:
        return row | {"note": _nothing(field)}
    row["score"] = found.score
    if found.score < LEAST[field.type]:
        nearest = document.text[found.value.start : found.value.end]
        return row | {"note": f"nothing that fits well enough; nearest was {nearest[:80]!r} ({found.score:.2f})"}
    return row | filled(found.value, document) | {"note": _note(found)}


def _nothing(field: Field) -> str:
    """Why there is no candidate."""
    if field.pattern is not None:
        return "the pattern matches nothing in the document"
    return f"nothing in the document has the type {field.type}"


def _note(found: Found) -> str | None:
    """What a reader should know of a value."""
    if not found.passed_over:
        return found.value.note
    too_many = f"{found.passed_over} values in passages of less likeness were too many to be looked at"
    return f"{found.value.note}; {too_many}" if found.value.note else too_many
