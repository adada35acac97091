"""The task batch: what a request becomes for the model, and what an answer becomes in the row."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import engine
from pipeline.answer.converse import Conversing
from pipeline.document import Parsed, Section
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Work
from pipeline.openai.line import REQUEST
from pipeline.openai.request import ITEMS, LENGTH
from pipeline.tasks import BatchSettings, Writing
from tests.pipeline.tasks.scribe import Answering, Scribe

Row = dict[str, Any]
LIST = {"type": "array", "items": {"type": "integer"}}
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}, "list": LIST}, "additionalProperties": False}


def document(line: int = 7, first: int | None = None, **body: Any) -> Parsed:
    said = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]} | body
    request = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": said}
    repeats = () if first is None else (Section(0, 1, "repeats", str(first)),)
    return Parsed(json.dumps(request), REQUEST, "batch/1", sections=(Section(0, 0, "line", str(line)), *repeats))


def row(parsed: Parsed, answer: Answering | Scribe, **writing: int) -> Row:
    model = answer if isinstance(answer, Scribe) else Scribe(answer)
    task = BatchSettings(("m", "gpt-4o-mini")).on_writing(model, Writing(**writing))  # type: ignore[arg-type]
    work = Work(Arrival("x.jsonl!/0000007.json", "x.jsonl!/0000007.json", 9, "0" * 64), parsed, 0.0)
    ((_, made),) = next(iter(Conversing(task, model)([work], lambda done, total: None)))
    assert made is not None
    return made


def says(text: Any) -> Callable[[str, Any], Any]:
    return lambda told, spec: text


def body(made: Row) -> Row:
    found: Row = json.loads(made["body"])
    return found


def schema_of(schema: Row) -> Row:
    return {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}


def test_messages_go_to_the_model_as_they_are() -> None:
    scribe = Scribe(says("Hi"))
    messages = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hello"}]
    made = row(document(messages=messages), scribe)
    assert scribe.asked == ["<system>Be brief.<user>Hello<assistant>"]
    assert (made["state"], made["failure"], made["custom_id"], made["line"]) == ("done", None, "a", 7)
    assert body(made)["choices"] == [
        {"index": 0, "message": {"role": "assistant", "content": "Hi", "refusal": None}, "logprobs": None,
         "finish_reason": "stop"},
    ]  # fmt: skip
    assert body(made)["usage"] == {"prompt_tokens": 39, "completion_tokens": 2, "total_tokens": 41}


def test_an_answer_ends_before_the_first_of_its_stops() -> None:
    parsed = document(stop=["four", "three"], max_tokens=20)
    made = row(parsed, says("one two three four five six seven"))
    assert body(made)["choices"][0]["message"]["content"] == "one two "
    assert body(made)["choices"][0]["finish_reason"] == "stop"
    assert made["state"] == "done"
    assert body(made)["usage"]["completion_tokens"] == len("one two three")  # nothing is written behind it


def test_a_stop_within_an_answer_in_json_ends_it() -> None:
    parsed = document(response_format=schema_of(SCHEMA), stop=",")
    made = row(parsed, says({"text": "x", "list": [1, 2]}))
    choice = body(made)["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ('{"text":"x"', "stop")


@pytest.mark.parametrize(("form", "tokens"), [("text", 256), ("json_object", 264)])
def test_what_says_the_same_again_and_again_is_an_answer_that_came_to_a_limit(form: str, tokens: int) -> None:
    said = "It is so. " * 100
    parsed = document(response_format={"type": form}, max_tokens=2000)
    made = row(parsed, says(said if form == "text" else {"a": said}))
    assert (made["state"], made["failure"], made["status_code"]) == ("failed", "unanswered", 200)
    assert made["reason"] == f"line 7: the model said the same again and again, and was stopped after {tokens} tokens"
    choice = body(made)["choices"][0]
    assert (len(choice["message"]["content"]), choice["finish_reason"]) == (tokens, "length")


@pytest.mark.parametrize("answer", [{"a": [0] * 400}, {"a": [True] * 300}, {"a": ["", "x y"] * 200}])
def test_equal_values_are_no_repetition(answer: Row) -> None:
    parsed = document(response_format={"type": "json_object"}, max_tokens=3000)
    assert row(parsed, says(answer))["state"] == "done"


def test_the_limit_is_the_requests_or_the_jobs() -> None:
    for parsed, tokens in ((document(max_tokens=3), 3), (document(), 5), (document(max_completion_tokens=9), 9)):
        made = row(parsed, says("abcdefghijkl"), max_tokens=5)
        assert (made["state"], made["failure"], made["status_code"]) == ("failed", "unanswered", 200)
        assert made["reason"] == f"line 7: the answer was not over after {tokens} tokens"
        choice = body(made)["choices"][0]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("abcdefghijkl"[:tokens], "length")


def test_what_does_not_fit_is_refused_before_the_model() -> None:
    for parsed in (document(max_tokens=80), document(messages=[{"role": "user", "content": "x" * 200}])):
        scribe = Scribe(says("never"))
        made = row(parsed, scribe, context=100)
        assert not scribe.asked
        assert (made["failure"], made["status_code"]) == ("invalid_request", 400)
        error = body(made)["error"]
        assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")
        assert error["message"].endswith("more than the 100 that are read here")
    made = row(document(messages=[{"role": "user", "content": "x" * 4000}]), Scribe(says("never")), context=100)
    assert "they have 4,000 characters" in body(made)["error"]["message"]


def test_logprobs_are_of_each_token() -> None:
    made = row(document(logprobs=True, stop="!"), Scribe(says("aé!x"), surprise=lambda text, at: -0.5))
    told = body(made)["choices"][0]["logprobs"]["content"]
    assert [one["token"] for one in told] == ["a", "é", "é"]
    assert [one["bytes"] for one in told] == [[97], None, None]
    assert {one["logprob"] for one in told} == {-0.5}


def test_answers_are_held_to_their_form() -> None:
    made = row(document(response_format=schema_of(SCHEMA)), says({"text": "x", "list": [1, 2]}))
    assert json.loads(body(made)["choices"][0]["message"]["content"]) == {"text": "x", "list": [1, 2]}
    made = row(document(response_format={"type": "json_object"}), says({"a": [{"b": None}], "c": "d"}))
    assert json.loads(body(made)["choices"][0]["message"]["content"]) == {"a": [{"b": None}], "c": "d"}


def test_an_answer_that_the_engines_bounds_end_is_not_whole() -> None:
    """A schema without bounds gets the widest; who comes to them was ended by them."""
    long = {"text": "x" * 1500, "list": list(range(40))}
    room = {"context": 100_000, "max_tokens": 50_000}
    parsed = document(response_format=schema_of(SCHEMA))
    assert row(parsed, Scribe(says(long), context=100_000), **room)["state"] == "done"
    for wide in ({"text": "x" * LENGTH, "list": []}, {"text": "", "list": [1] * ITEMS}):
        made = row(parsed, Scribe(says(wide), context=100_000), **room)
        assert (made["failure"], body(made)["choices"][0]["finish_reason"]) == ("unanswered", "length")


def test_a_schema_that_no_answer_can_keep() -> None:
    made = row(document(response_format=schema_of(SCHEMA | {"allOf": []})), says("never"))
    error = body(made)["error"]
    assert (error["code"], error["param"]) == ("invalid_value", "response_format.json_schema.schema")
    assert "schema #: allOf: " in error["message"]


def test_a_repeated_custom_id() -> None:
    made = row(document(first=3), says("never"))
    assert (made["failure"], made["status_code"], made["body"], made["custom_id"]) == (
        "invalid_request",
        None,
        None,
        "a",
    )
    assert made["error"] == {
        "code": "duplicate_custom_id", "message": "line 7: custom_id: it is that of line 3 already",
    }  # fmt: skip


class Refusing(Scribe):
    """A chat template that takes no messages of this kind, or an answer that breaks down."""

    def prompt(self, messages: Any) -> Any:
        if messages[-1]["role"] == "assistant":
            raise engine.EngineError("tokenizer.chat_template: refuses these messages: no")
        return super().prompt(messages)

    def _completion(self, request: engine.Request) -> engine.Completion:
        return replace(super()._completion(request), finish="failed", reason="the constraint allows no token here")


def test_what_the_engine_refuses() -> None:
    made = row(document(messages=[{"role": "assistant", "content": "Hi"}]), Refusing(says("x")))
    assert body(made)["error"]["param"] == "messages"
    assert made["reason"].startswith("line 7: body.messages: tokenizer.chat_template: refuses")
    made = row(document(), Refusing(says("x")))
    assert (made["failure"], made["status_code"], body(made)["error"]["type"]) == ("unanswered", 500, "server_error")
