"""A request of a batch file: what it asks for, if that is done here; else an error as OpenAI's service words it.

Nothing is passed over: a parameter is honoured, or makes no difference to the answer, or the request is refused.
https://platform.openai.com/docs/api-reference/chat/create, as of 2026-11.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pipeline.openai import parameters
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
    parameters.check(given)
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
