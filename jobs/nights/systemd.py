"""What systemd is told of the service, by the protocol of sd_notify(3): ready, what it does, and that it gets on.

Everything is sent by the thread that serves, when it asks whether to stop and when a run tells of a step. So a watchdog
hears of work that goes on: a service that waits asks each second, and a run between slices of a quarter of a second of
computing. A thread of its own would go on telling that all is well while the one that works hangs.
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, MutableMapping
from os import getpid
from typing import Final

_STATUS_SECONDS: Final = 5.0  # between two words of what goes on
_BEATS: Final = 4  # words in the time after which the watchdog bites

Clock = Callable[[], float]


class Systemd:
    """Tells systemd. Where nobody asked to be told, nothing happens. `doing` says in a few words what goes on."""

    def __init__(self, address: str = "", watchdog_seconds: float | None = None, clock: Clock = time.monotonic) -> None:
        """`address`: of the socket that takes datagrams, a path or "@" and a name; "" for none."""
        self.watched = bool(address) and watchdog_seconds is not None
        self.doing: Callable[[], str] = lambda: "begins"
        self._clock, self._thread = clock, threading.get_ident()
        self._every = min(_STATUS_SECONDS, watchdog_seconds / _BEATS if watchdog_seconds else _STATUS_SECONDS)
        self._next = clock()
        self._stopping = False
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) if address else None
        if self._socket:
            self._socket.setblocking(False)  # a manager that takes nothing must not hold the service up

    @classmethod
    def of_environment(cls, environment: MutableMapping[str, str], clock: Clock = time.monotonic) -> "Systemd":
        """What the environment says of who wants to be told, which is then taken out of it: it is for no child."""
        names = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
        address, usec, pid = (environment.pop(name, "") for name in names)
        is_ours = usec.isdigit() and int(usec) > 0 and pid in ("", str(getpid()))
        return cls(address if address[:1] in ("/", "@") else "", int(usec) / 1e6 if is_ours else None, clock)

    def __enter__(self) -> "Systemd":
        return self

    def __exit__(self, *_: object) -> None:
        if self._socket:
            self._socket.close()

    def ready(self) -> None:
        """The service is ready, at its start or after it read its files again."""
        self._send("READY=1", f"STATUS={self.doing()}")

    def reloading(self) -> None:
        """The service reads its files again, until it is `ready`."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")

    def beat(self) -> None:
        """The service gets on; it is told now and then what it does."""
        if self._socket and (now := self._clock()) >= self._next:
            self._next = now + self._every
            self._send(*(["WATCHDOG=1"] if self.watched else []), f"STATUS={self.doing()}")

    def hears(self, stop: Callable[[], bool]) -> Callable[[], bool]:
        """`stop`, of which each question of the thread that serves is a beat. Threads that read documents ask, too:
        that they get on does not say that the service does."""

        def asked() -> bool:
            if threading.get_ident() == self._thread:
                self.beat()
                if stop() and not self._stopping:
                    self._stopping = True
                    self._send("STOPPING=1", "STATUS=commits what is computed, and stops")
            return stop()

        return asked

    def _send(self, *lines: str) -> None:
        if self._socket:
            with contextlib.suppress(OSError):  # whoever asked has gone, or takes nothing
                self._socket.sendto("\n".join(lines).encode(), self._address)
