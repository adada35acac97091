"""Chat templates are rendered in a process of their own, which has so much computing time and memory for each, and can
write no file. Steps and characters are counted as well (sandbox.py), but what a filter costs is not."""

import json
import resource
import struct
from datetime import date as Date  # noqa: N812
from pathlib import Path
from typing import IO, Any

from engine.tokenizer.chat.marked import pieces_of, written
from engine.tokenizer.chat.sandbox import CHARS_FOR_EACH, MAX_CHARS, Program, TemplateFailure

SECONDS, CHARS_A_SECOND = 5, 200_000
"""Seconds of computing for a rendering, and one more for so many characters of the messages. Published templates take
milliseconds, and a second for 5,000,000 characters."""
MEMORY, MEMORY_FOR_EACH = 256 << 20, 64
"""Bytes of memory beside what the process has when it begins, and more of them for each character of the messages."""
_LENGTH = struct.Struct("<Q")
_KEPT = 8
_NEVER = (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)


def serve(asked: IO[bytes], said: IO[bytes]) -> None:
    """Render what is asked for, until nobody asks any more, or the memory was too little: all is gone with it then."""
    # the address space of this process (proc(5), statm)
    base = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    programs = dict[str, Program]()
    for kind in _NEVER:
        resource.setrlimit(kind, (0, 0))
    while (message := read_message(asked)) is not None:
        try:
            write_message(said, json.dumps(_answer(json.loads(message), base, programs)).encode())
        except MemoryError:
            write_message(said, b"null")
            return


def _answer(request: dict[str, Any], base: int, programs: dict[str, Program]) -> dict[str, Any]:
    """The pieces of a prompt, or why there are none. MemoryError."""
    source, chars = request["source"], sum(len(content) for _, content in request["messages"])
    _limit(base, request["seconds"], chars)
    try:
        if source not in programs:
            while len(programs) >= _KEPT:
                del programs[next(iter(programs))]
            programs[source] = Program(source)
        text = programs[source].render(_variables(request), chars)
        if len(text) > MAX_CHARS + CHARS_FOR_EACH * chars:
            raise TemplateFailure(f"made {len(text):,} characters")
    except TemplateFailure as error:
        return {"failure": str(error)}
    return {"pieces": [[piece.text, piece.is_content] for piece in pieces_of(text)]}


def _variables(request: dict[str, Any]) -> dict[str, Any]:
    """What a template knows by name; roles and tokens are its own text, with which it writes control tokens."""
    told: dict[str, Any] = {name: written(token) for name, token in request["tokens"].items()}
    told["messages"] = [{"role": written(role), "content": content} for role, content in request["messages"]]
    if request["date"]:
        told["strftime_now"] = Date.fromisoformat(request["date"]).strftime
    thinks = {"enable_thinking": request["thinks"], "thinking": request["thinks"]}
    return {"tools": request["tools"], "documents": None, "add_generation_prompt": True, **thinks, **told}


def _limit(base: int, seconds: int, chars: int) -> None:
    """Set the time and memory of the next rendering. The system ends the process by SIGXCPU when its time is over,
    whatever it is at (setrlimit(2)): a clock of computing, so a busy machine takes nothing of it."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds + chars // CHARS_A_SECOND
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_AS, (base + MEMORY + MEMORY_FOR_EACH * chars, resource.RLIM_INFINITY))


def read_message(file: IO[bytes]) -> bytes | None:
    """The next message; None at the end, also within one."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    body = file.read(size)
    return body if len(body) == size else None


def write_message(file: IO[bytes], body: bytes) -> None:
    """Write one message. OSError."""
    file.write(_LENGTH.pack(len(body)))
    file.write(body)
    file.flush()
