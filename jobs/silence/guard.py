"""The guard in a command's process: Python code that reaches for a network is refused, told of, and ends the command.

An audit hook (sys.addaudithook) hears of each call of Python's `socket` module, whoever makes it. It cannot be taken
away again, so it is silent where no command is under way. Native code does not pass by it: seal.py is for that.
"""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

_LOCAL: Final = (1, 16)  # AF_UNIX, AF_NETLINK (linux/socket.h): this machine alone
_UNKNOWN: Final = -1  # the family of a socket that is made of a descriptor
_NAMES: Final = ("getaddrinfo", "gethostbyname", "gethostbyaddr", "getnameinfo")
_ADDRESSED: Final = ("connect", "bind", "sendto", "sendmsg")
_MOST: Final = 16  # attempts that are remembered
SAID: Final = "network refused: "
"""How the line on stderr begins that tells of an attempt."""
_LIBRARY: Final = os.path.dirname(os.__file__)  # noqa: PTH120

Door = Callable[[str, int, Any], bool]
"""Says whether a call may be made: its name, the socket's family, its address (None where it has none)."""


@dataclass(frozen=True)
class Attempt:
    """A call that was refused: its name, where to, and the place in the code that asked for it."""

    call: str
    address: str
    by: str

    def __str__(self) -> str:
        return f"{self.call} to {self.address}, by {self.by}"


class NetworkAttemptError(BaseException):
    """Code of this process reached for a network. No Exception: whoever tries again without a network, or goes on
    without it, is to end too."""


@dataclass
class _Guard:
    hooked: bool = False
    watching: bool = False
    doors: list[Door] = field(default_factory=list)
    attempts: list[Attempt] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)


_guard = _Guard()  # a hook is the process's, and so is what it knows


@contextlib.contextmanager
def watching() -> Iterator[None]:
    """Refuse all attempts of this process as long as this lasts, and forget them afterwards."""
    if not _guard.hooked:
        sys.addaudithook(_hear)
        _guard.hooked = True
    _guard.watching = True
    try:
        yield
    finally:
        _guard.watching = False
        _guard.attempts.clear()


@contextlib.contextmanager
def except_for(door: Door) -> Iterator[None]:
    """Let the calls pass that the door lets pass, as long as this lasts."""
    _guard.doors.append(door)
    try:
        yield
    finally:
        _guard.doors.remove(door)


def let_threads(prefix: str) -> None:
    """Let all calls pass that come from threads whose names begin so, for the rest of this process. Of their native
    code the kernel hears, if they are held by it."""
    if prefix not in _guard.threads:
        _guard.threads.append(prefix)
        _guard.doors.append(lambda call, family, address: threading.current_thread().name.startswith(prefix))


def is_watching() -> bool:
    """Whether attempts are refused now."""
    return _guard.watching


def attempts() -> tuple[Attempt, ...]:
    """The attempts since the command began, the first of them."""
    return tuple(_guard.attempts)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    """Hear of everything that Python audits; raise NetworkAttemptError for a call that is refused."""
    if not event.startswith("socket.") or not _guard.watching:
        return
    call = event.removeprefix("socket.")
    if call in _NAMES:
        family, address = _UNKNOWN, arguments[0]
    elif call == "__new__":
        family, address = arguments[1], None
    elif call in _ADDRESSED:
        family, address = int(arguments[0].family), arguments[1]
        if address is None:  # to whom it is connected already, as `send`, of which nobody hears
            return
    else:
        return
    is_local = family in _LOCAL or (family == _UNKNOWN and call == "__new__")
    if not is_local and not any(door(call, family, address) for door in _guard.doors):
        name = "socket" if call == "__new__" else call
        attempt = Attempt(name, f"family {family}" if address is None else ascii(address)[:200], _asker())
        if len(_guard.attempts) < _MOST:
            _guard.attempts.append(attempt)
        with contextlib.suppress(OSError):
            os.write(2, f"{SAID}{attempt}\n".encode("ascii", "backslashreplace"))
        raise NetworkAttemptError(str(attempt))


def _asker() -> str:
    """The file and line of the innermost code that is neither this file nor Python's own library."""
    frame = sys._getframe(1)
    found = "?"
    while frame := frame.f_back:  # type: ignore[assignment]
        name = frame.f_code.co_filename
        is_library = name.startswith((_LIBRARY, "<frozen")) and "-packages" not in name
        if name != __file__ and not is_library:
            return f"{name}:{frame.f_lineno}"
        if found == "?" and name != __file__:
            found = f"{name}:{frame.f_lineno}"
    return found
