"""Every parameter is honoured, makes no difference, or is refused by name."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.openai.refused import RefusedError
from pipeline.openai.request import Chat, custom_id_of, read_request

HELLO = [{"role": "user", "content": "Hello"}]


def line(**changes: Any) -> str:
    return json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body()} | changes)


def body(**changes: Any) -> dict[str, Any]:
    return {"model": "m", "messages": HELLO} | changes


def read(**changes: Any) -> Chat:
    return read_request(line(body=body(**changes)), ("m", "gpt-4o-mini"))


def test_the_least_request() -> None:
    assert read() == Chat("a", ({"role": "user", "content": "Hello"},), None, "text", (), False)


def test_what_is_honoured() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    form = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema, "description": "d"}}
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "Be"}, {"type": "text", "text": "brief."}]},
        {"role": "user", "content": "Hi", "name": None},
        {"role": "assistant", "content": "Yes?", "refusal": None, "tool_calls": None},
    ]
    chat = read(
        model="gpt-4o-mini", messages=messages, max_completion_tokens=7, max_tokens=7, response_format=form,
        stop=["a", "b"], logprobs=True,
    )  # fmt: skip
    assert [tuple(message.values()) for message in chat.messages] == [
        ("system", "Be\nbrief."), ("user", "Hi"), ("assistant", "Yes?"),
    ]  # fmt: skip
    assert (chat.limit, chat.form, chat.stop, chat.logprobs) == (7, schema, ("a", "b"), True)
    assert read(response_format={"type": "json_object"}).form == "json_object"
    assert read(response_format={"type": "text"}).form == "text"
    assert read(stop="x").stop == ("x",)
    assert read(max_tokens=3).limit == 3


NEUTRAL: dict[str, Any] = {
    "temperature": 0, "n": 1, "top_p": 1, "frequency_penalty": 0.0, "presence_penalty": 0, "logit_bias": {},
    "top_logprobs": 0, "tools": [], "tool_choice": "none", "parallel_tool_calls": True, "functions": [],
    "function_call": "none", "modalities": ["text"], "service_tier": "auto", "store": False, "stream": False,
    "verbosity": "medium", "user": "u", "metadata": {"k": "v"}, "safety_identifier": "s", "prompt_cache_key": "k",
    "seed": 7, "logprobs": False, "stop": [], "response_format": {"type": "text"},
}  # fmt: skip


@pytest.mark.parametrize("name", NEUTRAL)
def test_what_makes_no_difference(name: str) -> None:
    assert read(**{name: NEUTRAL[name]}) == read()


@pytest.mark.parametrize("name", [*NEUTRAL, "audio", "prediction", "reasoning_effort", "max_tokens"])
def test_null_is_left_out(name: str) -> None:
    assert read(**{name: None}) == read()


def test_a_nucleus_makes_no_difference_where_nothing_is_drawn() -> None:
    assert read(temperature=0, top_p=0.1) == read()


@pytest.mark.parametrize(
    ("changes", "code", "param", "why"),
    [
        ({"temperature": 0.7}, "unsupported_value", "temperature", "found 0.7, expected 0 or nothing: answers"),
        ({"temperature": False}, "unsupported_value", "temperature", "found false"),
        ({"top_p": 0.9}, "unsupported_value", "top_p", "without temperature 0"),
        ({"temperature": 0, "top_p": 2}, "invalid_value", "top_p", "found 2"),
        ({"n": 2}, "unsupported_value", "n", "expected 1 or nothing"),
        ({"n": True}, "unsupported_value", "n", "found true"),
        ({"tools": [{"type": "function"}]}, "unsupported_value", "tools", "no tools are called"),
        ({"tool_choice": {"type": "function"}}, "unsupported_value", "tool_choice", "found an object"),
        ({"logit_bias": {"5": 1}}, "unsupported_value", "logit_bias", "expected {} or nothing"),
        ({"top_logprobs": 5}, "unsupported_value", "top_logprobs", "not kept"),
        ({"stream": True}, "unsupported_value", "stream", "output file"),
        ({"reasoning_effort": "low"}, "unsupported_value", "reasoning_effort", "expected nothing"),
        ({"best_of": 3}, "unknown_parameter", "best_of", "nothing is passed over"),
        ({"Temperature": 0}, "unknown_parameter", "Temperature", ""),
        ({"seed": 1.5}, "invalid_type", "seed", "a whole number"),
        ({"logprobs": 1}, "invalid_type", "logprobs", "true or false"),
        ({"max_tokens": 0}, "invalid_value", "max_tokens", "from 1"),
        ({"max_tokens": 5.0}, "invalid_value", "max_tokens", "from 1"),
        ({"max_tokens": 5, "max_completion_tokens": 6}, "invalid_value", "max_tokens", "one of both"),
        ({"stop": ["a"] * 5}, "invalid_value", "stop", "at most 4"),
        ({"stop": [""]}, "invalid_value", "stop", "at most 4"),
        ({"stop": 7}, "invalid_value", "stop", "found 7"),
        ({"response_format": "json"}, "invalid_value", "response_format", 'found "json"'),
        ({"response_format": "text"}, "invalid_value", "response_format", 'found "text"'),
        ({"response_format": {"type": "yaml"}}, "invalid_value", "response_format", "json_schema"),
        ({"response_format": {"type": "json_schema"}}, "invalid_value", "response_format", "with its key"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, "missing_required_parameter",
         "response_format.json_schema.schema", "there is none"),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "x": 1}}}, "unknown_parameter",
         "response_format.json_schema.x", "expected name"),
        ({"model": None}, "missing_required_parameter", "model", "there is none"),
        ({"model": "gpt-5"}, "model_not_found", "model", 'found "gpt-5", expected m or gpt-4o-mini'),
        ({"model": ["m"]}, "model_not_found", "model", "found a list of 1"),
        ({"messages": None}, "missing_required_parameter", "messages", "there are none"),
        ({"messages": []}, "invalid_type", "messages", "at least one"),
        ({"messages": "hi"}, "invalid_type", "messages", 'found "hi"'),
        ({"messages": ["hi"]}, "invalid_type", "messages[0]", "an object"),
        ({"messages": [*HELLO, {"role": "tool", "content": "x"}]}, "invalid_value", "messages[1].role", 'found "tool"'),
        ({"messages": [{"content": "x"}]}, "invalid_value", "messages[0].role", "found null"),
        ({"messages": [{"role": "user"}]}, "invalid_type", "messages[0].content", "found null"),
        ({"messages": [{"role": "user", "content": []}]}, "invalid_type", "messages[0].content", "a list of 0"),
        ({"messages": [{"role": "user", "content": "x", "name": "Ada"}]}, "unsupported_parameter",
         "messages[0].name", ""),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]},
         "unsupported_value", "messages[0].content[0]", "only text is read here"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 3}]}]}, "invalid_type",
         "messages[0].content[0].text", "found 3"),
    ],
)  # fmt: skip
def test_what_is_refused(changes: dict[str, Any], code: str, param: str, why: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read(**changes)
    error = caught.value
    assert (error.code, error.param, error.status) == (code, param, 404 if code == "model_not_found" else 400)
    assert error.message.startswith(f"body.{param}: ")
    assert why in error.message


@pytest.mark.parametrize(
    ("changes", "code", "param"),
    [
        ({"custom_id": None}, "missing_required_parameter", "custom_id"),
        ({"custom_id": 7}, "invalid_type", "custom_id"),
        ({"custom_id": ""}, "invalid_type", "custom_id"),
        ({"method": "GET"}, "invalid_method", "method"),
        ({"url": "/v1/embeddings"}, "invalid_url", "url"),
        ({"url": "https://api.openai.com/v1/chat/completions"}, "invalid_url", "url"),
        ({"body": "x"}, "invalid_type", "body"),
        ({"body": None}, "missing_required_parameter", "body"),
        ({"headers": {}}, "unknown_parameter", "headers"),
    ],
)
def test_a_line_that_is_no_request(changes: dict[str, Any], code: str, param: str) -> None:
    with pytest.raises(RefusedError) as caught:
        read_request(line(**changes), ("m",))
    assert (caught.value.code, caught.value.param, caught.value.status) == (code, param, None)
    assert param in caught.value.message


WORDS = st.sampled_from(
    ["text", "type", "json_schema", "schema", "json_object", "role", "content", "user", "m", "auto"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*NEUTRAL, "max_tokens", "messages", "model"]), JSON, min_size=1, max_size=2))
def test_whatever_a_body_holds(changes: dict[str, Any]) -> None:
    with suppress(RefusedError):
        read(**changes)


@given(st.dictionaries(st.sampled_from(["custom_id", "method", "url", "body", "x"]), JSON, min_size=1))
def test_whatever_a_line_holds(changes: dict[str, Any]) -> None:
    with suppress(RefusedError):
        read_request(line(**changes), ("m",))


def test_what_a_line_calls_itself() -> None:
    assert custom_id_of(line(url="/x")) == "a"
    assert [custom_id_of(text) for text in ("{", "{}", '{"custom_id": 3}')] == [None] * 3
