"""Run a command of `notify`: with a time limit and a limit on its output, and killed with its group beyond them."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jobs.silence.seal import start

MOST_OUTPUT: Final = 65_536
"""Bytes that a command may write, stdout and stderr together."""
STOP_SECONDS: Final = 2.0
"""How long it may go on once the service is asked to stop."""
_LOOK_SECONDS: Final = 0.2
_SHOWN: Final = 400  # bytes of output, from its end


@dataclass(frozen=True)
class Called:
    """How a command ended. `code`: its exit code, None if it did not end by itself; `problem`: what went wrong, None
    if nothing did; `said`: the end of its output."""

    code: int | None
    problem: str | None
    said: str = ""


def call(command: Sequence[str], told: bytes, seconds: float, place: Path, stop: Callable[[], bool]) -> Called:
    """Run the command in the folder `place` with `told` on its standard input. Never raises because of the command."""
    try:
        process = start(
            command,
            cwd=place,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Called(None, f"it could not be started: {reason}")
    try:
        return _followed(process, told, seconds, stop)
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                with contextlib.suppress(OSError):
                    stream.close()


def _followed(process: "subprocess.Popen[bytes]", told: bytes, seconds: float, stop: Callable[[], bool]) -> Called:
    assert process.stdin
    assert process.stdout
    with contextlib.suppress(OSError):  # it may have closed its input, or ended; a pipe has room for all of this
        os.set_blocking(process.stdin.fileno(), False)
        process.stdin.write(told)
        process.stdin.close()
    out, output, open_ = process.stdout.fileno(), b"", True
    end = time.monotonic() + seconds
    stopped_at: float | None = None
    while (ended := process.poll()) is None:
        now = time.monotonic()
        if stop():
            stopped_at = stopped_at or now
        if stopped_at is not None and now >= stopped_at + STOP_SECONDS:
            return Called(None, "it was killed, because the service is to stop", _shown(output))
        if now >= end:
            return Called(None, f"timed out: it was killed after {seconds:g} seconds", _shown(output))
        wait = max(0.0, min(_LOOK_SECONDS, end - now))
        if not open_:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(wait)
        elif select.select([out], [], [], wait)[0]:
            read = os.read(out, MOST_OUTPUT)
            output, open_ = output + read, bool(read)
        if len(output) > MOST_OUTPUT:
            return Called(None, f"it was killed, because it wrote more than {MOST_OUTPUT:,} bytes", _shown(output))
    output += _rest(out) if open_ else b""
    if ended < 0:
        return Called(None, f"it was ended by {_name_of(-ended)}", _shown(output))
    return Called(ended, f"it ended with exit code {ended}" if ended else None, _shown(output))


def _rest(out: int) -> bytes:
    """Read what is left in the pipe, without waiting for its end: a process that the command left may hold it open."""
    os.set_blocking(out, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(out, MOST_OUTPUT)
    return b""


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # of the real-time signals only the first and the last one have a name
        return f"signal {number}"


def _shown(output: bytes) -> str:
    return output[-_SHOWN:].decode(errors="replace")
