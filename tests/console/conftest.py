"""A console that really serves, on a port of its own, and a browser of sockets."""

import contextlib
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import jobs.console.app
from jobs.config.workspace import Workspace, open_workspace
from jobs.console.access.people import People
from jobs.console.house import House
from jobs.console.rights import Role
from jobs.console.serving import loopback, make_house, make_server, unix_socket
from tests.jobs.conftest import Cloister, Place, cloister, place, ready  # noqa: F401

PASSPHRASE = "four quiet words here"
OWN = {"Sec-Fetch-Site": "same-origin", "Origin": "null"}
"""What a browser says of a form of the console's own pages."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: HTTPMessage
    text: str
    body: bytes = b""

    @property
    def token(self) -> str:
        """The token of the first form of the page."""
        found = re.search(r'name="token" value="([0-9a-f.]+)"', self.text)
        assert found, self.text
        return found[1]


@dataclass
class Browser:
    """A client with a cookie, which it takes and sends as browsers do."""

    port: int
    cookie: str = ""
    more: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, headers: Mapping[str, str] = {}) -> Answer:
        """Ask for a page."""
        return self._ask("GET", path, None, headers)

    def post(self, path: str, form: Mapping[str, str], headers: Mapping[str, str] = OWN) -> Answer:
        """Send a form."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._ask("POST", path, urlencode(form), {**kind, **headers})

    def act(self, page: str, path: str, form: Mapping[str, str] = {}) -> Answer:
        """Send a form with the token that a page gives."""
        return self.post(path, {"token": self.get(page).token, **form})

    def _ask(self, method: str, path: str, body: str | None, headers: Mapping[str, str]) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=300)
        cookie = {"Cookie": self.cookie} if self.cookie else {}
        with contextlib.closing(connection):
            connection.request(method, path, body, {**self.more, **cookie, **headers})
            answer = connection.getresponse()
            data = answer.read()
        if set_cookie := answer.headers["Set-Cookie"]:
            self.cookie = set_cookie.partition(";")[0]
        return Answer(answer.status, answer.headers, data.decode(errors="replace"), data)


@dataclass(frozen=True)
class Served:
    """A console that serves."""

    root: Path
    house: House
    port: int

    def browser(self) -> Browser:
        """Somebody whom nobody knows."""
        return Browser(self.port)

    def person(self, name: str, *roles: Role) -> Browser:
        """Somebody who was invited, came, and is signed in."""
        token = self.house.people.invite(name, roles)
        browser = self.browser()
        answer = browser.post(f"/join/{token}", {"passphrase": PASSPHRASE, "again": PASSPHRASE})
        assert answer.status == 303, answer.text
        return browser

    def everybody(self, name: str = "Anna") -> Browser:
        """Somebody with all roles."""
        return self.person(name, *Role)


@contextlib.contextmanager
def serving(
    root: Path, *, head_seconds: float = 15.0, body_seconds: float = 15.0, path: Path | None = None, **house_of: Any
) -> Iterator[Served]:
    """Serve a workspace until the end of the block; `house_of` replaces members of the house."""
    workspace: Workspace = open_workspace(root)
    begun = threading.Event()
    with unix_socket(path, group=False) if path else loopback(0) as listener:
        house = make_house(workspace, People(root / "keys"), listener)
        for name, value in house_of.items():
            object.__setattr__(house, name, value)
        app = jobs.console.app.make_app(house, body_seconds)
        server = make_server(app, begun.set, head_seconds)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert begun.wait(300)
            yield Served(root, house, 0 if path else listener.getsockname()[1])
        finally:
            server.should_exit = True
            thread.join(600)
        assert not thread.is_alive()


@pytest.fixture
def console(place: Place) -> Iterator[Served]:  # noqa: F811
    """The console of an empty workspace."""
    with serving(place.root) as served:
        yield served


def raw(port: int, data: bytes, *, seconds: float = 300) -> bytes:
    """Send bytes, and read until the console closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.sendall(data)
        return received(client)


def received(client: socket.socket) -> bytes:
    """Everything that comes until the connection ends."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := client.recv(65536):
            found += piece
    return found


def status_of(answer: bytes) -> int:
    """The status of a raw answer."""
    assert answer.startswith(b"HTTP/1.1 "), answer
    return int(answer.split()[1])
