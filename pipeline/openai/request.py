"""A request of a batch file: what it asks for, if that is done here; else an error as OpenAI's service words it.

Nothing is passed over: a parameter is honoured, or makes no difference to the answer, or the request is refused.
https://platform.openai.com/docs/api-reference/chat/create, as of 2026-11.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

import engine
from pipeline.openai.line import LineError, read_line
from pipeline.openai.refused import RefusedError, refuse, refuse_line, shown

URL: Final = "/v1/chat/completions"
_KEYS: Final = ("custom_id", "method", "url", "body")
_ROLES: Final = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_NONE_HERE: Final = ("refusal", "audio", "tool_calls", "function_call", "annotations")  # of a message, if null
_STOPS: Final = 4

Message = dict[str, str]


@dataclass(frozen=True)
class Chat:
    """`limit`: tokens of the answer, if the request says how many. `form`: "text", "json_object", or the JSON Schema of
    the answer. `stop`: texts before any of which the answer ends."""

    custom_id: str
    messages: tuple[Message, ...]
    limit: int | None
    form: str | Mapping[str, Any]
    stop: tuple[str, ...]
    logprobs: bool


def read_request(text: str, models: Collection[str]) -> Chat:
    """The request of a line; `models`: the names that it may call the model by. RefusedError."""
    try:
        line = read_line(text)
    except LineError as error:
        raise RefusedError("invalid_json_line", str(error), status=None) from error
    return _chat(line, models)


def custom_id_of(text: str) -> str | None:
    """The `custom_id` of a line, whatever is wrong with the rest of it; None for none."""
    try:
        found = read_line(text).get("custom_id")
    except LineError:
        return None
    return found if isinstance(found, str) else None


def _chat(line: Mapping[str, Any], models: Collection[str]) -> Chat:
    body = _frame(line)
    _model(body, models)
    given = {key: value for key, value in body.items() if value is not None}
    check(given)
    found = body.get("messages")
    if found is None:
        refuse("missing_required_parameter", "messages", "there are none")
    if not isinstance(found, list) or not found:
        refuse("invalid_type", "messages", f"found {shown(found)}, expected a list of at least one message")
    return Chat(
        custom_id=line["custom_id"],
        messages=tuple(_message(f"messages[{index}]", message) for index, message in enumerate(found)),
        limit=_limit(given),
        form=_form(given.get("response_format", {"type": "text"})),
        stop=_stops(given.get("stop", [])),
        logprobs=bool(given.get("logprobs")),
    )


def _frame(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body of what is a request for answers."""
    for key in _KEYS:
        if line.get(key) is None:
            raise RefusedError("missing_required_parameter", f"there is no {key}", key, None)
    if unknown := sorted(line.keys() - set(_KEYS)):
        refuse_line("unknown_parameter", unknown[0], f"found it, expected only {', '.join(_KEYS)}")
    if not isinstance(line["custom_id"], str) or not line["custom_id"]:
        refuse_line("invalid_type", "custom_id", f"found {shown(line['custom_id'])}, expected a text")
    if line["method"] != "POST":
        refuse_line("invalid_method", "method", f"found {shown(line['method'])}, expected POST")
    if line["url"] != URL:
        refuse_line("invalid_url", "url", f"found {shown(line['url'])}, expected {URL}: this job answers chats")
    if not isinstance(body := line["body"], dict):
        refuse_line("invalid_type", "body", f"found {shown(body)}, expected an object")
    return body


def _model(body: Mapping[str, Any], models: Collection[str]) -> None:
    if body.get("model") is None:
        refuse("missing_required_parameter", "model", "there is none")
    if body["model"] not in tuple(models):
        expected = f"expected {' or '.join(models)}; task.models of the job says what else it may be called"
        refuse("model_not_found", "model", f"found {shown(body['model'])}, {expected}", 404)


def _message(at: str, message: Any) -> Message:
    if not isinstance(message, dict):
        refuse("invalid_type", at, f"found {shown(message)}, expected an object")
    if (role := message.get("role")) not in tuple(_ROLES):
        refuse("invalid_value", f"{at}.role", f"found {shown(role)}, expected {', '.join(_ROLES)}: no tools are called")
    for key, value in message.items():
        if key not in ("role", "content") and not (value is None and key in (*_NONE_HERE, "name")):
            refuse("unsupported_parameter", f"{at}.{key}", "the model would not be told of it; only role and content")
    return {"role": _ROLES[role], "content": _content(f"{at}.content", message.get("content"))}


def _content(at: str, content: Any) -> str:
    """A text, or the texts of a list of parts, each on lines of its own."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not content:
        refuse("invalid_type", at, f"found {shown(content)}, expected a text or a list of parts of type text")
    return "\n".join(_part(f"{at}[{index}]", part) for index, part in enumerate(content))


def _part(at: str, part: Any) -> str:
    if not isinstance(part, dict) or part.get("type") != "text" or part.keys() != {"type", "text"}:
        kind = part.get("type") if isinstance(part, dict) else part
        refuse("unsupported_value", at, f"found {shown(kind)}, expected {{type: text, text}}: only text is read here")
    if not isinstance(part["text"], str):
        refuse("invalid_type", f"{at}.text", f"found {shown(part['text'])}, expected a text")
    return str(part["text"])


def _limit(body: Mapping[str, Any]) -> int | None:
    names = [name for name in ("max_completion_tokens", "max_tokens") if name in body]
    for name in names:
        if type(body[name]) is not int or body[name] < 1:
            refuse("invalid_value", name, f"found {shown(body[name])}, expected a whole number from 1")
    if len({body[name] for name in names}) > 1:
        refuse(
            "invalid_value", "max_tokens", "found another number than in max_completion_tokens, expected one of both"
        )
    return body[names[0]] if names else None


def _form(form: Any) -> str | Mapping[str, Any]:
    at = "response_format"
    kind, keys = (form.get("type"), form.keys()) if isinstance(form, dict) else (None, set())
    if kind in ("text", "json_object") and keys == {"type"}:
        return str(kind)
    if kind != "json_schema" or keys != {"type", "json_schema"}:
        refuse(
            "invalid_value", at, f"found {shown(form)}, expected type text, json_object, or json_schema with its key"
        )
    said = form["json_schema"]
    if not isinstance(said, dict) or not isinstance(said.get("schema"), dict):
        refuse("missing_required_parameter", f"{at}.json_schema.schema", "there is none")
    if unknown := sorted(said.keys() - {"name", "description", "schema", "strict"}):
        refuse("unknown_parameter", f"{at}.json_schema.{unknown[0]:.60}", "expected name, description, schema, strict")
    return dict(said["schema"])


def _stops(stop: Any) -> tuple[str, ...]:
    stops = [stop] if isinstance(stop, str) else stop
    if not isinstance(stops, list) or len(stops) > _STOPS or not all(isinstance(one, str) and one for one in stops):
        refuse("invalid_value", "stop", f"found {shown(stop)}, expected at most {_STOPS} texts")
    return tuple(stops)


READ: Final = frozenset({
    "model", "messages", "max_tokens", "max_completion_tokens", "response_format", "stop", "logprobs", "seed", "top_p",
})  # fmt: skip
LABELS: Final = frozenset({"user", "metadata", "safety_identifier", "prompt_cache_key"})
"""They tell somebody something, and no answer depends on them."""

_GREEDY: Final = "answers are always the most probable ones, so that anybody can compute them again bit for bit"
_NO_TOOLS: Final = "no tools are called here"
_ONLY: Final[Mapping[str, tuple[tuple[Any, ...], str]]] = {
    "temperature": ((0,), _GREEDY),
    "n": ((1,), "there is one most probable answer"),
    "frequency_penalty": ((0,), _GREEDY),
    "presence_penalty": ((0,), _GREEDY),
    "logit_bias": (({},), _GREEDY),
    "top_logprobs": ((0,), "the probabilities of other tokens are not kept"),
    "tools": (([],), _NO_TOOLS),
    "tool_choice": (("none", "auto"), _NO_TOOLS),
    "parallel_tool_calls": ((True, False), _NO_TOOLS),
    "functions": (([],), _NO_TOOLS),
    "function_call": (("none", "auto"), _NO_TOOLS),
    "modalities": ((["text"],), "the model reads and writes text alone"),
    "audio": ((), "the model reads and writes text alone"),
    "prediction": ((), "it could not make the answer another one; leave it out"),
    "reasoning_effort": ((), "how much a model reasons is not set here"),
    "verbosity": (("medium",), "say in a message how long the answer should be"),
    "service_tier": (("auto", "default"), "there is one service"),
    "store": ((False,), "answers are in the output file"),
    "stream": ((False,), "answers are in the output file"),
    "stream_options": ((), "answers are in the output file"),
    "web_search_options": ((), "nothing here has a network"),
}  # parameter -> what makes no difference, and why nothing else


def check(body: Mapping[str, Any]) -> None:
    """Each parameter of a body that is there and not null. RefusedError."""
    for name, value in body.items():
        if name in _ONLY:
            allowed, why = _ONLY[name]
            if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
                expected = " or ".join(
                    [*((str(one) if isinstance(one, dict | list) else shown(one)) for one in allowed), "nothing"]
                )
                refuse("unsupported_value", name, f"found {shown(value)}, expected {expected}: {why}")
        elif name not in READ | LABELS:
            refuse("unknown_parameter", f"{name:.80}", "it is no parameter that is known here; nothing is passed over")
    # Refuse values of a wrong type of parameters that are read elsewhere, or that make no difference, as a seed.
    if type(body.get("seed", 0)) is not int:
        refuse("invalid_type", "seed", f"found {shown(body['seed'])}, expected a whole number")
    if type(body.get("logprobs", False)) is not bool:
        refuse("invalid_type", "logprobs", f"found {shown(body['logprobs'])}, expected true or false")
    top = body.get("top_p", 1)
    if isinstance(top, bool) or not isinstance(top, int | float) or not 0 < top <= 1:
        refuse("invalid_value", "top_p", f"found {shown(top)}, expected a number over 0 and up to 1")
    if top != 1 and "temperature" not in body:
        refuse(
            "unsupported_value", "top_p", f"found {shown(top)} without temperature 0, expected 1 or nothing: {_GREEDY}"
        )


LENGTH: Final = 20_000  # characters of a text
ITEMS: Final = 1_000  # of a list: the most that the engine allows (engine/README.md)
_NAMED: Final = ("properties", "$defs", "definitions")
_FIXED: Final = frozenset({"enum", "const", "$ref", "anyOf"})


def constraint_of(form: str | Mapping[str, Any]) -> engine.AnyObject | engine.Schema | None:
    """None for text. Where a schema bounds neither texts nor lists they may be as long as the engine allows."""
    if isinstance(form, str):
        return engine.AnyObject() if form == "json_object" else None
    return engine.Schema(_widened(form))


def is_whole(text: str) -> bool:
    """Whether no text and no list of an answer in JSON came to these bounds, where the rule would have ended it and not
    the model."""
    level = [json.loads(text)]
    while level:
        if any(len(one) >= (LENGTH if isinstance(one, str) else ITEMS) for one in level if isinstance(one, str | list)):
            return False
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [each for one in inner for each in one]
    return True


def _widened(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    made = dict(node)
    for key in _NAMED:
        if isinstance(node.get(key), dict):
            made[key] = {name: _widened(each) for name, each in node[key].items()}
    if isinstance(node.get("anyOf"), list):
        made["anyOf"] = [_widened(each) for each in node["anyOf"]]
    if "items" in node:
        made["items"] = _widened(node["items"])
    if node.keys().isdisjoint(_FIXED):
        made |= _bounds(node)
    return made


def _bounds(node: Mapping[str, Any]) -> dict[str, int]:
    types = node.get("type")
    names = types if isinstance(types, list) else [types]
    free = {"maxLength": LENGTH} if "string" in names and node.keys().isdisjoint({"maxLength", "format"}) else {}
    return free | ({"maxItems": ITEMS} if "array" in names and "maxItems" not in node else {})
