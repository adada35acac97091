"""Fields of a job, what is found for them, and the elements of the column `fields`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Final

import pyarrow as pa

from pipeline.document import Parsed
from pipeline.tasks.base import EVIDENCE, Answer, Window
from pipeline.tasks.risk import Accept
from pipeline.tasks.settings import Key, Settings, SettingsError, Text
from pipeline.text.values import VALUES, Finder, Value, check_pattern, pattern_finder

LEAST: Final = {  # a value that scores less is not given; chosen by measurement: DECISIONS.md
    "text": 0.35, "date": 0.3, "money": 0.2, "number": 0.4, "percent": 0.35,
    "email": 0.2, "phone": 0.35, "iban": 0.2, "reference": 0.4, "regex": 0.2, "title": 0.3, "organisation": 0.3,
}  # fmt: skip
ESCAPED: Final = {"\b": "b", "\x1b": "e", "\x85": "N", "\u2028": "L", "\u2029": "P"}
"""Characters that no pattern has, and the escapes that mean them in YAML (1.2.2, section 5.7), and not in a pattern."""


@dataclass(frozen=True)
class Sought:
    """A field that a head knows: its name, its type, and the pattern of a type of one's own."""

    name: str
    type: str
    pattern: str | None = None

    @property
    def finder(self) -> Finder:
        """What finds values of the field's type."""
        return VALUES[self.type] if self.pattern is None else pattern_finder(self.pattern)


@dataclass(frozen=True)
class Field(Settings):
    """A value to be found in each document."""

    name: Annotated[Text, Key("the field's name as it stands in the result")]
    type: Annotated[str, Key("what kind of value it is", choices=(*VALUES, "regex"))] = "text"
    description: Annotated[str, Key("what the value means, in a few words; it is compared by meaning")] = ""
    pattern: Annotated[Text | None, Key("the regular expression of a field of type regex")] = None
    entity: Annotated[
        Text | None, Key("of a model that tags tokens: the type of entity that is the field's value, such as PER")
    ] = None
    many: Annotated[bool, Key("whether it may have several values, such as the parties of a contract")] = False
    threshold: Annotated[
        float | None,
        Key(
            "a value with a lower score is not given; if left out, as it is best for the type, or as was learned",
            least=0,
            most=1,
        ),
    ] = None
    accept: Annotated[
        Accept | None,
        Key("with a learned head: which answers for the field are accepted, instead of what the task says"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pattern is not None:
            try:
                check_pattern(self.pattern)
            except ValueError as error:
                raise SettingsError(str(error), at=("pattern",)) from error

    @property
    def known(self) -> Sought:
        """The field as heads know it."""
        return Sought(self.name, self.type, self.pattern)

    @property
    def least(self) -> float:
        """The score below which a value is not given."""
        return LEAST[self.type] if self.threshold is None else self.threshold

    def check(self) -> None:
        if self.type == "regex" and self.pattern is None:
            raise SettingsError("a field of type regex without a pattern", "the key 'pattern'", at=("type",))
        if self.type != "regex" and self.pattern is not None:
            found = f"a pattern in a field of type {self.type}"
            raise SettingsError(found, "a pattern only with type: regex", at=("pattern",))
        for character, escape in ESCAPED.items():
            if character in (self.pattern or ""):
                found = f"a pattern with the character U+{ord(character):04X}, which \\{escape} means in double quotes"
                raise SettingsError(found, f"a regular expression with \\{escape}", "use single quotes", ("pattern",))


@dataclass(frozen=True)
class Found:
    """A value and how well it fits a field, from 0 to 1; `passed_over` values were too many to be looked at."""

    value: Value
    score: float
    passed_over: int = 0


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


def rows_of(field: Field, document: Parsed, found: Sequence[Found], good: Sequence[Found]) -> Iterator[Row]:
    """The elements of the column `fields`: one for each value that scores enough, one without a value if none does."""
    for one in good:
        over = f"{one.passed_over} values in passages of less likeness were too many to be looked at"
        yield filled(field.name, field.type, document, one.value, one.score, over if one.passed_over else None)
    if not good and not found:
        none = f"nothing in the document has the type {field.type}"
        none = none if field.pattern is None else "the pattern matches nothing in the document"
        yield empty(field.name, field.type, none)
    elif not good:
        best = max(found, key=lambda one: one.score)
        nearest = document.text[best.value.start : best.value.end]
        yield empty(field.name, field.type, too_low(nearest, best.score), best.score)
