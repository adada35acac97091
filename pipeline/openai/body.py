"""Bodies of responses: a completion as `chat.completion`, a refusal as `error`.

Of what the service writes, `created` and `system_fingerprint` are left to outputs.py: they tell of a run and of the
model, and not of a request. `prompt_tokens_details` are not told: how much of a prompt was computed for another one
already depends on what travels with it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import engine
from pipeline.openai.refused import RefusedError

Body = dict[str, Any]


def completed(
    completion: engine.Completion, *, name: str, model: str, stop: Sequence[str], logprobs: bool
) -> tuple[Body, bool]:
    """The body for an answer that was stopped, or came to its limit, and whether it is whole. `name` is of the request
    and of no other one, such as a digest."""
    end = min((at for at in map(completion.text.find, stop) if at >= 0), default=None)
    kept = sum(begin < end for begin, _ in completion.offsets.tolist()) if end is not None else completion.ids.size
    whole = completion.finish == "stopped" or end is not None
    message = {"role": "assistant", "content": completion.text[:end], "refusal": None}
    choice = {
        "index": 0,
        "message": message,
        "logprobs": {"content": _logprobs(completion, kept), "refusal": None} if logprobs else None,
        "finish_reason": "stop" if whole else "length",
    }
    read, written = completion.prompt_tokens, completion.ids.size
    usage = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    about = {"id": f"chatcmpl-{_digest(name)}", "object": "chat.completion", "model": model}
    return {**about, "choices": [choice], "usage": usage}, whole


def refused(error: RefusedError, line: int) -> Body:
    """The body for a request that is not answered."""
    kind = "server_error" if error.status == 500 else "invalid_request_error"
    about = {"message": told(error.message, line), "type": kind, "param": error.param, "code": error.code}
    return {"error": about}


def told(message: str, line: int) -> str:
    """The message with the number of the line."""
    return f"line {line}: {message}"


def compact(body: Mapping[str, Any]) -> str:
    """The value as JSON in ASCII, in which nothing ends a line."""
    return json.dumps(body, separators=(",", ":"))


def _logprobs(completion: engine.Completion, kept: int) -> list[Body]:
    """The log-probability of each token; one that is only a piece of a character has no bytes that could be told."""
    places = [(int(begin), int(end)) for begin, end in completion.offsets.tolist()]
    found = []
    for at, (begin, end) in enumerate(places[:kept]):
        alone = (at == 0 or places[at - 1][1] <= begin) and (at + 1 == len(places) or end <= places[at + 1][0])
        text = completion.text[begin:end]
        bytes_ = list(text.encode()) if alone and "\ufffd" not in text else None
        logprob = float(completion.logprobs[at])
        found.append({"token": text, "logprob": logprob, "bytes": bytes_, "top_logprobs": []})
    return found


def _digest(name: str) -> str:
    return hashlib.sha256(f"chatcmpl {name}".encode()).hexdigest()[:32]
