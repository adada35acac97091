"""Batch: the requests of files in the OpenAI Batch format, each answered as it asks; for models that write.

Nothing is put around the messages of a request. One that is refused gets a row, too: with the status and the body that
the service would give. An answer that came to its limit is a failure here, as everywhere, and has what was written
until then.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Final, Self

import pyarrow as pa

import engine
from pipeline.document import Parsed, Row, Span
from pipeline.errors import Failure
from pipeline.openai import body
from pipeline.openai.refused import RefusedError, refuse
from pipeline.openai.request import Chat, constraint_of, custom_id_of, is_whole, read_request
from pipeline.tasks.asking import told_repeated
from pipeline.tasks.base import Answer, Dialogue, Line, Slot, Task, Window
from pipeline.tasks.kinds import TEXT, Writer, Writing
from pipeline.tasks.passages import LONGEST
from pipeline.tasks.settings import Key, SettingsError, Text

REPEATS: Final = 16  # of a passage in a row: no chat that was asked for comes to as many words
_SCHEMAS: Final = 64  # that are known to be in order


@dataclass(frozen=True)
class BatchSettings(Task):
    """An answer to each request of files in the OpenAI Batch format.

    `models` are the names that requests may call the model by, at least one; answers bear the first.
    """

    models: Annotated[
        tuple[Text, ...], Key("names by which requests may call the model, beside its own; answers bear its own")
    ] = ()

    of_requests: ClassVar[bool] = True
    unreviewed: ClassVar[str | None] = (
        "answers of batch files are not reviewed: their requests are answered for a program"
    )
    purpose: ClassVar[str] = "an answer to each request of files in the OpenAI Batch format"
    needs: ClassVar[str | None] = TEXT
    max_tokens: ClassVar[str] = "tokens of an answer whose request sets no limit, at most; 1024 if left out"
    columns: ClassVar[tuple[pa.Field, ...]] = (
        pa.field("custom_id", pa.string()),
        pa.field("line", pa.int64()),
        pa.field("status_code", pa.int32()),
        pa.field("body", pa.string()),
        pa.field("error", pa.struct([("code", pa.string()), ("message", pa.string())])),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.models:
            raise SettingsError("the model has no name")

    @classmethod
    def from_keys(cls, keys: Mapping[str, Any], model: str) -> Self:
        return cls(tuple(dict.fromkeys((model, *keys.get("models", ())))))

    def slots(self) -> Sequence[Slot]:
        return [Slot(name) for name in ("custom_id", "status_code", "body")]

    def in_words(self) -> str:
        named = f"; its model may be called {', '.join(self.models[1:])}, too" if self.models[1:] else ""
        return f"answer requests to /v1/chat/completions in the OpenAI Batch format{named}"

    def on_writing(self, model: Writer, writing: Writing) -> "_ByAnswering":
        return _ByAnswering(self, model, writing)

    @classmethod
    def cells(cls, row: Row) -> Iterator[tuple[str, str, str | None]]:
        names = (name for name in ("custom_id", "status_code", "body") if row.get(name) is not None)
        return ((name, "text", str(row[name])) for name in names)

    @classmethod
    def lines(cls, row: Row) -> Iterator[Line]:
        if row.state == "done" and row.get("body"):
            said = json.loads(row["body"])["choices"][0]["message"]["content"]
            yield Line(said, f"{row['custom_id']}: ")


class _ByAnswering:
    """The task on a model that writes; made for requests of one model."""

    def __init__(self, settings: BatchSettings, model: Writer, writing: Writing) -> None:
        self._models, self._model, self._writing = settings.models, model, writing
        self._context = min(model.context, writing.context)
        self._wrong = lru_cache(_SCHEMAS)(self._wrong_with)

    def dialogue(self, document: Parsed) -> Dialogue:
        said = {section.kind: int(section.title) for section in document.sections}
        line = said["line"]
        try:
            chat = self._chat(document.text, said.get("repeats"))
            request = self._request(chat)
        except RefusedError as error:
            return _refused(error, custom_id_of(document.text), line, Failure.INVALID_REQUEST)
        (completion,) = yield [request]
        read = [Window(Span(0, len(document.text)), completion.prompt_tokens)]
        if completion.finish == "failed":
            failed = RefusedError("unanswered", completion.reason, status=500)
            return _refused(failed, chat.custom_id, line, Failure.UNANSWERED)
        cut = completion.finish == "stopped" and _is_cut(request, completion.text)
        made, whole = body.completed(
            replace(completion, finish="length") if cut else completion,
            name=document.text_sha256, model=self._models[0], stop=chat.stop, logprobs=chat.logprobs,
        )  # fmt: skip
        columns = _columns(chat.custom_id, line, 200, made)
        if whole:
            return Answer(columns, windows=read)
        reason = f"the answer was not over after {completion.ids.size} tokens"
        reason = told_repeated(completion) if completion.finish == "repeated" else reason
        return Answer(columns, reason=body.told(reason, line), windows=read, failure=Failure.UNANSWERED)

    def _chat(self, text: str, first: int | None) -> Chat:
        if first is not None:
            message = f"custom_id: it is that of line {first} already"
            raise RefusedError("duplicate_custom_id", message, "custom_id", None)
        return read_request(text, self._models)

    def _request(self, chat: Chat) -> engine.Request:
        if (size := sum(len(message["content"]) for message in chat.messages)) > LONGEST * self._context:
            told = f"they have {size:,} characters: more than {self._context} tokens, which are read here, can be"
            refuse("context_length_exceeded", "messages", told)
        try:
            prompt = self._model.prompt(chat.messages)
        except engine.EngineError as error:
            refuse("invalid_value", "messages", str(error))
        left = self._context - prompt.size
        limit = min(self._writing.max_tokens, left) if chat.limit is None else chat.limit
        if limit < 1 or limit > left:
            asked = f"they have {prompt.size} tokens, and an answer may have {max(limit, 1)}"
            refuse("context_length_exceeded", "messages", f"{asked}: more than the {self._context} that are read here")
        return engine.Request(prompt, limit, self._constraint(chat.form), stop=chat.stop, repeats=REPEATS)

    def _constraint(self, form: str | Mapping[str, Any]) -> engine.Schema | engine.AnyObject | None:
        if not isinstance(form, str) and (wrong := self._wrong(json.dumps(form))):
            refuse("invalid_value", "response_format.json_schema.schema", wrong)
        return constraint_of(form)

    def _wrong_with(self, schema: str) -> str:
        try:
            if constraint := constraint_of(json.loads(schema)):
                self._model.check(constraint)
        except engine.EngineError as error:
            return str(error)
        return ""


def _is_cut(request: engine.Request, text: str) -> bool:
    """Whether a rule of the engine ended the answer in JSON; where a text of `stop` did, it is no JSON, and whole."""
    return request.constraint is not None and not any(stop in text for stop in request.stop) and not is_whole(text)


def _columns(custom_id: str | None, line: int, status: int | None, made: body.Body | None) -> dict[str, Any]:
    text = None if made is None else body.compact(made)
    return {"custom_id": custom_id, "line": line, "status_code": status, "body": text}


def _refused(error: RefusedError, custom_id: str | None, line: int, failure: Failure) -> Answer:
    reason = body.told(error.message, line)
    made = None if error.status is None else body.refused(error, line)
    columns = _columns(custom_id, line, error.status, made)
    if error.status is None:
        columns["error"] = {"code": error.code, "message": reason}
    return Answer(columns, reason=reason, failure=failure)
