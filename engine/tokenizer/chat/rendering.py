"""The process that renders chat templates, as everybody else has it: started when it is first asked, and anew when it
was ended."""

import atexit
import json
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from signal import SIGXCPU
from typing import Any

from engine.tokenizer.chat.child import SECONDS, read_message, write_message
from engine.tokenizer.chat.sandbox import TemplateFailure
from engine.tokenizer.prompts import Piece

_BOOT = Path(__file__).with_name("boot.py")


class TemplateCost(TemplateFailure):
    """A rendering that takes more computing or memory than it may."""


class Renderer:
    """Renders by a process of its own, one prompt after another; several threads may ask. While it waits, signals are
    heard: what a handler raises ends the process. `seconds`: of computing for each, beside those for its length."""

    def __init__(self, seconds: int = SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def render(self, request: dict[str, Any]) -> tuple[Piece, ...]:
        """The pieces of what is asked for, as child.py has it. Raises TemplateFailure."""
        said = self._asked(json.dumps({**request, "seconds": self._seconds}).encode())
        if "failure" in said:
            raise TemplateFailure(said["failure"])
        return tuple(Piece(text, is_content) for text, is_content in said["pieces"])

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._end()

    def _asked(self, request: bytes) -> dict[str, Any]:
        code: int | None = 0
        with self._lock:
            for _ in range(2):  # somebody may have ended the process since it was asked last
                try:
                    said = self._said(request)
                except BaseException:
                    self._end()
                    raise
                if said is not None:
                    if (found := json.loads(said)) is None:
                        self._end()
                        raise TemplateCost("takes more memory than a rendering may")
                    return dict(found)
                if (code := self._end()) == -SIGXCPU:
                    raise TemplateCost("computes for longer than a rendering may")
        raise TemplateCost(f"ends the process that renders it (exit status {code})")

    def _said(self, request: bytes) -> bytes | None:
        """The answer of the process; None where it ended."""
        self._process = self._process or subprocess.Popen(
            [sys.executable, "-P", "-s", str(_BOOT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdin
        assert self._process.stdout
        with suppress(BrokenPipeError):
            write_message(self._process.stdin, request)
            return read_message(self._process.stdout)
        return None

    def _end(self) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        process.kill()
        with suppress(BrokenPipeError):
            process.communicate()
        return process.returncode


RENDERER = Renderer()
"""The one of this process: to start one for each model file would take longer than to render."""
atexit.register(RENDERER.close)
