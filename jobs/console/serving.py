"""The console of a workspace is opened: everything that lives as long as it does, and its server, uvicorn on a loopback
address or a Unix socket, with limits on clients that are slow."""

import asyncio
import contextlib
import os
import signal
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path
from typing import Any, Final

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace
from jobs.console.access.people import People, Person
from jobs.console.access.sessions import Attempt, Attempts, Patience, Sessions
from jobs.console.app import make_app
from jobs.console.house import House, Proxy
from jobs.console.indexes import Indexes
from jobs.console.now import Present
from jobs.console.rights import Role
from jobs.console.work import Works
from jobs.errors import ConfigError, Problem
from jobs.record import record
from jobs.silence.guard import Door, except_for
from jobs.silence.seal import seal_if_own

_MOST_CONNECTIONS: Final = 200
_MOST_HEAD_BYTES: Final = 16 * 1024
_BACKLOG: Final = 64
_LOCAL: Final = ("127.0.0.1", "localhost")
_LATE: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


@contextlib.contextmanager
def loopback(port: int) -> Iterator[socket.socket]:
    """A socket that listens on this port of 127.0.0.1; 0 picks one. ConfigError for one that is in use."""
    # Sockets may be made, and bound to this port of 127.0.0.1; what is accepted becomes a socket, too. Nothing else is
    # bound, and nothing connects.
    door: Door = lambda call, family, address: (  # noqa: E731
        family == socket.AF_INET and (call == "__new__" or (call == "bind" and address == ("127.0.0.1", port)))
    )
    with except_for(door), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
            listener.listen(_BACKLOG)
        except OSError as error:
            found = f"port {port} of 127.0.0.1 cannot be had: {error.strerror}"
            remedy = "stop what has it, or take another one; --port 0 picks one"
            raise ConfigError(Problem("--port", found, "a port that is free", remedy)) from error
        yield listener


@contextlib.contextmanager
def unix_socket(path: Path, *, group: bool) -> Iterator[socket.socket]:
    """A Unix socket, for its owner (0600), or its owner and group (0660). ConfigError for a path that is taken."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        _clear(path)
        before = os.umask(0o177)
        try:
            listener.bind(str(path))
        except OSError as error:
            raise ConfigError(Problem(str(path), f"cannot be made a socket: {error.strerror or error}")) from error
        finally:
            os.umask(before)
        if group:
            path.chmod(0o660)
        listener.listen(_BACKLOG)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


def _clear(path: Path) -> None:
    """Remove a socket on which nobody listens any more. ConfigError for anything else that lies there."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ConfigError(Problem(str(path), "lies there already, and is no socket", "a path where nothing is"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise ConfigError(Problem(str(path), "another process listens there", "a path where nothing is"))


def make_server(app: ASGIApp, ready: Callable[[], None], head_seconds: float = 15.0) -> uvicorn.Server:
    """A server, whose `run(sockets=[...])` serves until SIGTERM, SIGINT, or its `should_exit` is set; `ready` is called
    when requests are taken. A client has so many seconds for the head of each request."""
    config = uvicorn.Config(
        app,
        http=type("Protocol", (PatientProtocol,), {"head_seconds": head_seconds}),
        ws="none",
        loop="asyncio",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=ceil(head_seconds),
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=_MOST_HEAD_BYTES,
    )
    return _Server(config, ready)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End by SIGTERM and SIGINT, which are done with then: uvicorn itself raises them again when all has ended."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets=sockets)
        if self.started:
            self._ready()


class PatientProtocol(H11Protocol):
    """HTTP/1.1 whose clients have so many seconds for the head of each request; uvicorn itself waits for ever."""

    head_seconds: float = 15.0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def _wait(self) -> None:
        self._stop_waiting()
        self._late = self.loop.call_later(self.head_seconds, self._end_if_late)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end_if_late(self) -> None:
        """End the connection unless a request came whole; the answer to that has a limit of its own (guard.py)."""
        if self.transport.is_closing() or (self.cycle is not None and not self.cycle.response_complete):
            return
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self.transport.write(_LATE)
        self.transport.close()


def open_console(
    workspace: Workspace, ready: Callable[[str, int], None], *, port: int | None, path: Path | None, group: bool
) -> None:
    """Serve until a signal ends it; `ready` gets the address and the number of people who may sign in. ConfigError."""
    people = People(workspace.root / "keys")
    known = len(people.all())
    with _listener(workspace, port, path, group) as (listener, address):
        seal_if_own()  # which has its one socket now, and may make no other
        house = make_house(workspace, people, listener)
        make_server(make_app(house), lambda: ready(address, known + len(house.proxied))).run(sockets=[listener])


@contextlib.contextmanager
def _listener(
    workspace: Workspace, port: int | None, path: Path | None, group: bool
) -> Iterator[tuple[socket.socket, str]]:
    if path is not None:
        with unix_socket(path.absolute(), group=group) as listener:
            yield listener, f"unix:{path.absolute()}"
        return
    with loopback(workspace.site.console.port if port is None else port) as listener:
        yield listener, f"http://127.0.0.1:{listener.getsockname()[1]}/"


def make_house(workspace: Workspace, people: People, listener: socket.socket) -> House:
    """Everything that the pages of a console share."""
    said, site = workspace.site.console, make_site(workspace)
    own = listener.getsockname()
    port = own[1] if isinstance(own, tuple) else None
    local = [f"{name}:{port}" for name in _LOCAL] if port is not None else []
    local += _LOCAL if port in (None, 80) else []

    def tell(attempt: Attempt, times: int) -> None:
        record(site, pipeline.records.RefusedThere(what=attempt.why, person=attempt.person, times=times))

    proxied = {name: Person(name, tuple(map(Role, roles))) for name, roles in said.people.items()}
    return House(
        workspace=workspace,
        site=site,
        people=people,
        sessions=Sessions(said.idle_minutes * 60, said.session_hours * 3600),
        attempts=Attempts(tell),
        patience=Patience(),
        indexes=Indexes(site),
        present=Present(workspace, site),
        works=Works(workspace, site),
        hosts=frozenset([*(host.lower() for host in said.hosts), *local]),  # no page of another name is shown as ours
        proxy=Proxy(said.proxy.header, said.proxy.address) if said.proxy else None,
        proxied=proxied if said.proxy else {},
        secure=said.address().startswith("https:"),
    )
