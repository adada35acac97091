"""Fields on which a person decided: corrected, and as examples."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pipeline.document import Row
from pipeline.tasks.correcting import ReviewRefusedError, evidence_of, parse_given, settled
from pipeline.tasks.extract.fields import ELEMENT, Field

ABSENT: Final = "absent, as a person decided"


def correct(fields: Sequence[Field], row: Row, text: str | None, said: Any) -> Mapping[str, Any]:
    """The columns with other values of the fields that are said. ReviewRefusedError."""
    before = row.get("fields") or []
    if not isinstance(said, Mapping) or not said:
        raise ReviewRefusedError("a correction of fields says the values of some by their names")
    firsts = {each["name"]: each for each in reversed(before)}.values()
    known = fields or tuple(Field(each["name"], each["type"]) for each in firsts)
    if unknown := sorted(said.keys() - {field.name for field in known}):
        had = ", ".join(field.name for field in known)
        raise ReviewRefusedError(f"the job had no field {unknown[0]!r} when it made this row; it had {had}")
    made: list[dict[str, Any]] = []
    for field in known:
        elements = [each for each in before if each["name"] == field.name]
        if field.name in said:
            there = [each["value"] for each in elements if each["value"] is not None]
            made += _elements(row, text, field, said[field.name], there)
        else:
            made += elements or [_empty(field, None)]
    places = [each["evidence"] for each in made if each["evidence"]]
    return {"fields": made, "evidence": places}


def _elements(row: Row, text: str | None, field: Field, said: Any, before: Sequence[str]) -> Iterator[dict[str, Any]]:
    values = said if isinstance(said, list) else [] if said is None else [said]
    if len(values) > 1 and not field.many:
        raise ReviewRefusedError(f"{field.name}: the field has one value, and {len(values)} were given")
    for value in values:
        given = parse_given(field.name, value)
        its = settled(field.name, field.type, field.pattern, given, text, row.pages, before)
        place = evidence_of(row, text, its)
        verbatim = place["text"] if place else None
        yield _empty(field, its.note) | {"value": its.value, "verbatim": verbatim, "evidence": place}
    if not values:
        yield _empty(field, ABSENT)


def _empty(field: Field, note: str | None) -> dict[str, Any]:
    return {**dict.fromkeys(member.name for member in ELEMENT), "name": field.name, "type": field.type, "note": note}


def taught(fields: Sequence[Field], row: Row, placed: bool) -> Iterator[tuple[str, Any]]:
    """The values of each field: where they stand, or what they are; None for one that the document does not have."""
    for field in fields:
        its = [each for each in row["fields"] or () if each["name"] == field.name]
        values = [each for each in its if each["value"] is not None]
        if not its or (placed and any(each["evidence"] is None for each in values)):
            continue
        said = [[at["start"], at["end"]] if (at := each["evidence"]) else each["value"] for each in values]
        yield field.name, said or None
