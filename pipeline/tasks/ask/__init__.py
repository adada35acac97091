"""Ask: a question about each document, answered in JSON of a schema of the job's own, with the place of each quote.

Only for models that write. Of a document that does not fit, each window is asked for the passages that are needed to
answer, and the question is answered from those alone; if they do not fit either, they are asked in the same way. The
score of a value is the probability with which the model writes it, of a text in words of its own how sure it was of
them.
"""

import json
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import accumulate
from typing import Annotated, Any, ClassVar, Final, Self

import pyarrow as pa

import engine
from pipeline.document import Evidence, Parsed, Row, Span
from pipeline.errors import DocumentError, Failure
from pipeline.tasks import prompts
from pipeline.tasks.ask.correct import correct
from pipeline.tasks.ask.held import NoValueError, Offered, check_held, held_by, narrowed, values_of
from pipeline.tasks.ask.schemas import QUOTE, VALUE, marked, nodes, quotes, referred, slots_of, steps_of, unmarked
from pipeline.tasks.asking import Asker, Leaf, leaves, parsed, probability, sureness, whole
from pipeline.tasks.base import EVIDENCE, Answer, Dialogue, Line, Slot, Task, Value, Window, place_of
from pipeline.tasks.correcting import only
from pipeline.tasks.kinds import TEXT, Writer, Writing
from pipeline.tasks.passages import cut, grouped, room
from pipeline.tasks.settings import Key, SettingsError, Text

DEFAULT: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "quotes": {"type": "array", "items": {"type": "string", "format": QUOTE, "maxLength": 480}, "maxItems": 4},
        "answer": {"type": "string", "maxLength": 2000},
    },
    "required": ["quotes", "answer"],
    "additionalProperties": False,
}
"""The schema of an answer where the job has none."""

LONGEST: Final = 480  # characters of a passage
PASSAGES: Final = 6  # of a window
USUAL: Final = 1000  # characters of a text in an answer, where the schema says nothing (engine/README.md)
USUAL_QUOTE: Final = 400  # of a quote
REPEATS: Final = 8  # of a passage in a row, in a text of an answer; a document's own table may have as many
_BETWEEN: Final = "\n\n"
_PASSAGE: Final = {"type": "string", "minLength": 1, "maxLength": LONGEST}
_PASSAGES: Final = {
    "type": "object",
    "properties": {"passages": {"type": "array", "items": _PASSAGE, "maxItems": PASSAGES}},
    "required": ["passages"],
    "additionalProperties": False,
}  # fmt: skip

_BOUND: Final = {"maxLength", "pattern", "enum", "const"}

Found = Generator[Sequence[engine.Request], Sequence[engine.Completion], list[Span]]


@dataclass(frozen=True)
class AskSettings(Task):
    """An answer to a question of one's own about each document.

    `schema` is the JSON Schema of the answer as JSON, in whose order it is written.
    """

    question: Annotated[Text, Key("the question, in the words in which one would ask a person")]
    schema: Annotated[
        str,
        Key(
            "the JSON Schema of the answer; a text with `format: quote` is a passage of the document, a text or "
            "number with `format: value` a value in it; a text and the quotes on which it rests if left out",
            silent=True,
            given=dict[str, Any],
        ),
    ] = json.dumps(DEFAULT)

    unreviewed: ClassVar[str | None] = None
    purpose: ClassVar[str] = "an answer to a question about each document"
    needs: ClassVar[str | None] = TEXT
    columns: ClassVar[tuple[pa.Field, ...]] = (
        pa.field("answer", pa.string()),
        pa.field(
            "values",
            pa.list_(
                pa.struct(
                    [("pointer", pa.string()), ("value", pa.string()), ("score", pa.float64()), ("evidence", EVIDENCE)]
                )
            ),
        ),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        schema = json.loads(self.schema)
        check_held(schema)
        try:
            _check_schema(schema)
            _check_schema(referred(schema, schema))
        except engine.EngineError as error:
            raise SettingsError(str(error), at=("schema", *_at(str(error)))) from error

    @classmethod
    def from_keys(cls, keys: Mapping[str, Any], model: str) -> Self:
        schema = {"schema": json.dumps(keys["schema"])} if "schema" in keys else {}
        return cls.from_json({**keys, **schema})

    def slots(self) -> Sequence[Slot]:
        schema = json.loads(self.schema)
        return list(slots_of(referred(schema, schema)))

    def in_words(self) -> str:
        return f"ask {self.question}"

    def on_writing(self, model: Writer, writing: Writing) -> "_ByAsking":
        return _ByAsking(self, model, writing)

    def correct(self, row: Row, text: str | None, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        return correct(json.loads(self.schema), row, text, only(answer, "fields"))

    @classmethod
    def values(cls, row: Row) -> Iterator[Value]:
        for each in row.get("values") or ():
            yield Value(each["pointer"], "text", each["value"], each["score"], place_of(each.get("evidence")))

    @classmethod
    def cells(cls, row: Row) -> Iterator[tuple[str, str, str | None]]:
        for name, value in _named(row["answer"]) if row.get("answer") else ():
            kind = "number" if isinstance(value, int | float) and not isinstance(value, bool) else "text"
            yield name, kind, value if isinstance(value, str | None) else json.dumps(value)

    @classmethod
    def lines(cls, row: Row) -> Iterator[Line]:
        if row.get("answer"):
            yield Line(row["answer"])


def _named(answer: str) -> Iterator[tuple[str, Any]]:
    """The values of an answer in JSON by the names that lead to them; those of a list share one."""

    def walk(name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from walk(f"{name}.{key}" if name else key, inner)
        elif isinstance(value, list):
            for inner in value:
                yield from walk(name, inner)
        else:
            yield name or "answer", value

    try:
        yield from walk("", json.loads(answer))
    except (ValueError, RecursionError):
        yield "answer", answer


class _ByAsking:
    """The task on a model that writes; made for one question."""

    def __init__(self, settings: AskSettings, model: Writer, writing: Writing) -> None:
        self._ask = Asker(model, writing)
        self._marked = json.loads(settings.schema)
        self._schema, self._quotes = unmarked(self._marked), tuple(quotes(self._marked))
        self._held = any(marked(self._marked, VALUE))
        self._asked = partial(prompts.ask, settings.question, settings.schema, values=self._held)
        self._searched = partial(prompts.passages, settings.question)
        self._room = min(room(model, writing, self._asked), room(model, writing, self._searched))

    def dialogue(self, document: Parsed) -> Dialogue:
        read = cut(document, self._ask.model, self._room)
        if not read:
            return Answer({"answer": None, "values": []}, abstained=True, reason="no text")
        spans = [window.span for window in read]
        if len(spans) > 1:
            spans = yield from self._needed(document, read)
        if not spans:
            why = "no part of the document has a passage that is needed to answer the question"
            return Answer({"answer": None, "values": []}, abstained=True, reason=why, windows=read)
        text = _joined(document, spans)
        offered = Offered(document, spans) if self._held else None
        (completion,) = yield [self._request(text, offered)]
        parsed(completion)
        values = list(self._values(document, spans, text, completion, offered))
        places = dict.fromkeys((v["start"], v["end"]) for value in values if (v := value["evidence"]))
        evidence = [document.evidence(start, end) for start, end in places]
        return Answer({"answer": completion.text, "values": values}, evidence, windows=read)

    def _needed(self, document: Parsed, read: Sequence[Window]) -> Found:
        """The passages of the windows that are needed to answer, in their order, until they fit."""
        groups = [[window.span] for window in read]
        while True:
            texts = [_joined(document, group) for group in groups]
            completions = yield [self._passages(text) for text in texts]
            found = sorted(
                {
                    _origin(document, group, text, quote)
                    for group, text, completion in zip(groups, texts, completions, strict=True)
                    for quote in parsed(completion)["passages"]
                    if whole(quote, LONGEST).strip()
                },
                key=lambda span: (span.start, span.end),
            )
            sizes = self._ask.model.count_tokens([document.text[span.start : span.end] + _BETWEEN for span in found])
            if sum(sizes) <= self._room:
                return found
            if len(again := grouped(sizes, self._room)) >= len(groups):
                raise DocumentError(
                    Failure.UNANSWERED, f"the passages of {len(groups)} parts are {len(again)} parts again"
                )
            groups = [[found[i] for i in group] for group in again]

    def _request(self, text: str, offered: Offered | None) -> engine.Request:
        if offered is None:
            quoted = dict.fromkeys(self._quotes, text)
            return self._ask.of_schema(self._asked(text), self._schema, quoted, repeats=REPEATS)
        try:
            schema = narrowed(referred(self._marked, self._marked), offered)
        except NoValueError as error:
            raise DocumentError(Failure.UNANSWERED, str(error)) from error
        quoted, values = dict.fromkeys(quotes(schema), text), values_of(schema, offered)
        return self._ask.of_schema(self._asked(text), unmarked(schema), quoted, values, repeats=REPEATS)

    def _passages(self, text: str) -> engine.Request:
        quoted = {"/properties/passages/items": text}
        return self._ask.of_schema(self._searched(text), _PASSAGES, quoted)

    def _values(
        self, document: Parsed, spans: Sequence[Span], text: str, completion: engine.Completion, offered: Offered | None
    ) -> Iterator[dict[str, Any]]:
        for leaf in leaves(completion.text):
            every = list(nodes(self._marked, steps_of(leaf.pointer)))
            of = every if isinstance(leaf.value, str) else []
            quoted = any(node.get("format") == QUOTE for node in of)
            found = _value_place(document, leaf, every, offered) if offered else None
            bound = quoted or found or any("enum" in node or "const" in node for node in of)
            if quoted and not found:
                found = self._place(document, spans, text, leaf)
            if isinstance(leaf.value, str) and any(map(_is_free, of)):
                whole(leaf.value, USUAL_QUOTE if quoted else USUAL)
            free = bool(of) and not bound
            score = (sureness if free else probability)(completion, leaf.start + isinstance(leaf.value, str), leaf.end)
            value = leaf.value if isinstance(leaf.value, str | None) else json.dumps(leaf.value)
            evidence = asdict(found) if found else None
            yield {"pointer": leaf.pointer, "value": value, "score": score, "evidence": evidence}

    def _place(self, document: Parsed, spans: Sequence[Span], text: str, leaf: Leaf) -> Evidence | None:
        if not str(leaf.value).strip():
            return None
        span = _origin(document, spans, text, str(leaf.value))
        return document.evidence(span.start, span.end)


def _check_schema(schema: Any) -> None:
    """Raise EngineError if no answer can be held to the schema."""
    engine.check_constraint(engine.Schema(unmarked(schema), dict.fromkeys(quotes(schema), "text")))


def _value_place(document: Parsed, leaf: Leaf, of: Sequence[Mapping[str, Any]], offered: Offered) -> Evidence | None:
    """The place of a leaf that the schema holds to values of the document; None where it is none of them."""
    if leaf.value is None or isinstance(leaf.value, bool):
        return None
    held = [held_by(node) for node in of if node.get("format") == VALUE]
    span = next((span for one in held if (span := offered[one].get(leaf.value))), None)
    return document.evidence(span.start, span.end) if span else None


def _joined(document: Parsed, spans: Sequence[Span]) -> str:
    return _BETWEEN.join(document.text[span.start : span.end] for span in spans)


def _origin(document: Parsed, spans: Sequence[Span], text: str, quote: str) -> Span:
    """Where in the document a quote of the joined spans stands: one that goes from one span into the next is the whole
    between its ends."""
    start, end = engine.locate(text, quote)
    begins = list(accumulate((span.end - span.start + len(_BETWEEN) for span in spans), initial=0))
    places = [
        (span.start + max(start, begin) - begin, span.start + min(end, begin + span.end - span.start) - begin)
        for span, begin in zip(spans, begins, strict=False)
        if start < begin + span.end - span.start and end > begin
    ]
    return Span(places[0][0], places[-1][1])


def _is_free(node: Mapping[str, Any]) -> bool:
    """Whether the schema leaves it to the engine how long a text may be."""
    types = node.get("type")
    return (types == "string" or (isinstance(types, list) and "string" in types)) and not _BOUND & node.keys()


def _at(message: str) -> tuple[str | int, ...]:
    """The steps of the JSON pointer in a message on a schema; an index of a list as a number."""
    found = re.match(r"schema #((?:/[^/:]*)*): ", message)
    return tuple(int(step) if step.isdecimal() else step for step in steps_of(found[1])) if found else ()
