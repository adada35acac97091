"""Why a request is not answered, in the words of OpenAI's service."""

import json
from typing import Any, Final, Never

_SHOWN: Final = 60  # characters of a value


class RefusedError(Exception):
    """A request that is not answered. `status` is that of HTTP, None where the line is no request at all; `param`: what
    of it is at fault, of the body such as `messages[0].role`."""

    def __init__(self, code: str, message: str, param: str | None = None, status: int | None = 400) -> None:
        super().__init__(message)
        self.code, self.message, self.param, self.status = code, message, param, status


def refuse(code: str, param: str, message: str, status: int = 400) -> Never:
    """RefusedError for something in the body."""
    raise RefusedError(code, f"body.{param}: {message}", param, status)


def refuse_line(code: str, key: str, message: str) -> Never:
    """RefusedError for something around the body."""
    raise RefusedError(code, f"{key}: {message}", key, None)


def shown(value: Any) -> str:
    """The beginning of a value, for a message."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else f"a list of {len(value)}"
    text = json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
