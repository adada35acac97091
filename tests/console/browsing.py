"""A browser without a screen: asks the console's application for pages, keeps its cookie, and reads what comes."""

import asyncio
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from socket import socket
from typing import Any, cast
from urllib.parse import urlencode, urlsplit

import pytest
from lxml import html

import pipeline
from jobs.cli import main
from jobs.config.workspace import open_workspace
from jobs.console.access.people import People, Person
from jobs.console.app import make_app
from jobs.console.house import House, Proxy
from jobs.console.rights import Role
from jobs.console.serving import make_house

HOST = "localhost"


@dataclass(frozen=True)
class Answer:
    """The answer to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def page(self) -> Any:
        """The body as a tree of elements."""
        return html.document_fromstring(self.body.decode() or "<p>")

    @property
    def words(self) -> str:
        """What a person reads on the page, in one line."""
        return self.said("//main")

    def said(self, path: str) -> str:
        """The text of the first element at an XPath, in one line; "" where there is none."""
        found = self.page.xpath(path)
        return " ".join(found[0].text_content().split()) if found else ""


@dataclass
class Browser:
    """Somebody at a browser, whom the proxy calls `name`."""

    house: House
    name: str
    cookie: str = ""
    app: Any = field(default=None)

    def __post_init__(self) -> None:
        self.app = self.app or make_app(self.house)

    def get(self, path: str) -> Answer:
        """The page at a path."""
        return self._ask("GET", path, b"")

    def post(self, path: str, form: Mapping[str, str]) -> Answer:
        """Send a form."""
        return self._ask("POST", path, urlencode(form).encode())

    def send(self, answer: Answer, form: str, button: str, **changed: str) -> Answer:
        """Send the form at an XPath of a page by its button, with some fields filled in otherwise. Fields and buttons
        that name the form stand outside of it."""
        (element,) = answer.page.xpath(form)
        outside = answer.page.xpath("//*[@form=$id]", id=element.get("id", ""))
        fields = dict(element.fields) | {each.get("name"): each.get("value") for each in outside if each.tag == "input"}
        buttons = [*element.xpath(".//button"), *(each for each in outside if each.tag == "button")]
        (pressed,) = (each for each in buttons if each.get("value") == button)
        said = {name: value for name, value in fields.items() if value is not None}
        return self.post(element.get("action"), said | {pressed.get("name"): button} | changed)

    def _ask(self, method: str, path: str, body: bytes) -> Answer:
        split = urlsplit(path)
        headers = [(b"host", HOST.encode()), (b"x-user", self.name.encode()), (b"cookie", self.cookie.encode())]
        if method == "POST":
            headers += [(b"content-type", b"application/x-www-form-urlencoded"), (b"origin", b"http://localhost"),
                        (b"content-length", str(len(body)).encode())]  # fmt: skip
        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
                 "path": split.path, "raw_path": split.path.encode(), "query_string": split.query.encode(),
                 "headers": headers, "client": None, "server": (HOST, 80), "root_path": ""}  # fmt: skip
        answer = asyncio.run(_answer(self.app, scope, body))
        if found := re.match(r"cloister_session=([^;]*)", answer.headers.get("set-cookie", "")):
            self.cookie = f"cloister_session={found[1]}"
        return answer


async def _answer(app: Any, scope: dict[str, Any], body: bytes) -> Answer:
    status, headers, parts = 0, dict[str, str](), list[bytes]()
    sent = False

    async def receive() -> dict[str, Any]:
        nonlocal sent
        if sent:
            await asyncio.sleep(3600)
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        nonlocal status
        if message["type"] == "http.response.start":
            status = message["status"]
            headers.update({name.decode(): value.decode() for name, value in message["headers"]})
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    return Answer(status, headers, b"".join(parts))


def open_house(root: Path) -> House:
    """The console of a workspace, where a proxy says who somebody is: ann reviews, rob reads, ada audits."""
    workspace = open_workspace(root)
    people = {"ann": Role.REVIEWER, "rob": Role.READER, "ada": Role.AUDITOR}
    proxied = {name: Person(name.capitalize(), (role,)) for name, role in people.items()}
    house = make_house(workspace, People(root / "keys"), cast(socket, _NoSocket()))
    return replace(house, hosts=frozenset({HOST}), proxy=Proxy("x-user", "socket"), proxied=proxied)


class _NoSocket:
    """Stands for the socket of a console on which nobody calls."""

    def getsockname(self) -> str:
        return ""


def command(*arguments: str | Path, code: int = 0) -> None:
    """A command of cloister, run in this process, which has to end with this code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["cloister", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
    assert int(end.value.code or 0) == code


def entries_of(house: House) -> dict[str, int]:
    """The entry of the current row of each path."""
    with pipeline.index.open_index(house.site) as queue:
        queue.refresh()
        return {item.path: item.entry for item in queue.page(pipeline.index.Filter(), "path", None, 5000).items}
