"""Ask a model that writes for the fields of a document, and read what it said of each: quotes, or null."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import engine
from pipeline.document import Evidence
from pipeline.tasks.writing.answers import parsed, whole
from pipeline.tasks.writing.leaves import escaped, leaves, probability

LONGEST: Final = {"text": 480}  # characters of a quote
MANY: Final = 16  # values of a field that may have several
_USUAL: Final = 160

Offers = list[str] | None
"""What may be quoted for a field; None: any passage."""


class Wanted(Protocol):
    """A field of a job, as far as it is asked for."""

    @property
    def name(self) -> str:
        """Its name in the answer."""

    @property
    def type(self) -> str:
        """The type of its value."""

    @property
    def pattern(self) -> str | None:
        """The regular expression that its value matches."""

    @property
    def many(self) -> bool:
        """Whether it may have several values."""


@dataclass(frozen=True)
class Said:
    """A model's word on a field in one window: a quote or none, how probable it was, whether there was a choice."""

    quote: str | None
    score: float
    chosen: bool


def each_said(
    fields: Sequence[Wanted], completion: engine.Completion, offered: Sequence[Offers]
) -> Iterator[list[Said]]:
    """The model's words on each field; of one that may have several values, one for each."""
    answer = parsed(completion)
    at = {leaf.pointer: leaf for leaf in leaves(completion.text)}
    for field, values in zip(fields, offered, strict=True):
        quotes, pointer = answer[field.name], f"/{escaped(field.name)}"
        several = isinstance(quotes, list)
        said = [(quote, at[f"{pointer}/{n}"]) for n, quote in enumerate(quotes)] if several else []
        yield [
            Said(
                None if quote is None else whole(quote, longest(field)),
                probability(completion, leaf.start, leaf.end),
                values != [],
            )
            for quote, leaf in (said if several else [(quotes, at[pointer])])
        ]


def answer_schema(fields: Sequence[Wanted], offered: Sequence[Offers]) -> Mapping[str, Any]:
    """The JSON Schema of an answer: every field, in order, each with a quote or null."""
    return {
        "type": "object",
        "properties": {field.name: _quote(field, values) for field, values in zip(fields, offered, strict=True)},
        "required": [field.name for field in fields],
        "additionalProperties": False,
    }


def longest(field: Wanted) -> int:
    """Characters of a quote for this field; one that has as many is not whole."""
    return LONGEST.get(field.type, _USUAL)


def _quote(field: Wanted, offered: Offers) -> Mapping[str, Any]:
    null = {"type": "null"}
    if offered == []:
        return null
    quote = {"type": "string", "minLength": 1, "maxLength": longest(field)} if offered is None else {"enum": offered}
    several = {"type": "array", "items": quote, "minItems": 1, "maxItems": MANY}
    return {"anyOf": [several if field.many else quote, null]}


def not_quoted(field: Wanted, said: Sequence[Said], quoted: Sequence[Evidence]) -> dict[str, Any]:
    """The members of the element of a field without a value: why, and how sure that is."""
    kind = "matches the pattern" if field.pattern is not None else f"has the type {field.type}"
    if quoted:
        return {"note": f"the model quoted {quoted[0].text[:80]!r}, in which nothing {kind}"}
    if not said:
        return {"note": "no text"}
    if not any(one.chosen for one in said):
        return {"note": f"nothing in the document {kind}"}
    least = min((one for one in said if one.chosen), key=lambda one: one.score)
    why = "the model finds none" if least.quote is None else "the model quoted nothing"
    return {"score": least.score, "note": why}
