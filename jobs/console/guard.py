"""The guard in front of every page: which host is asked, from where a form comes, how long and how large it may be.

It stands around the application, so nothing behind it sees a request that it refused. What a page asks of the person
(session, rights, the token of a form) is `admit.py`. Refused attempts are answered in one sentence, and recorded where
they are no slip of an honest browser.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from jobs.console.attempt import RefusedError
from jobs.console.house import House

MOST_BODY_BYTES: Final = 256 * 1024
_MOST_HEAD_BYTES: Final = 16 * 1024
_METHODS: Final = frozenset({"GET", "HEAD", "POST"})
_FORM: Final = "application/x-www-form-urlencoded"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Guard:
    """An ASGI application that lets requests through to another one, or refuses them. A browser has so many seconds to
    send a form, and to take each piece of an answer."""

    def __init__(self, app: ASGIApp, house: House, body_seconds: float = 15.0, send_seconds: float = 30.0) -> None:
        self._app, self._house = app, house
        self._body_seconds, self._send_seconds = body_seconds, send_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the console's start and end."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            """Send with the headers that all answers have, and give up on a browser that takes nothing."""
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                static = scope["path"].startswith("/static/")
                headers.setdefault("Cache-Control", "private, max-age=3600" if static else "no-store")
            async with asyncio.timeout(self._send_seconds):
                await send(message)

        try:
            _check_head(scope, self._house.hosts)
            body = b""
            if scope["method"] == "POST":
                body = await _read_body(Headers(scope=scope), receive, self._body_seconds)
        except RefusedError as refused:
            if refused.recorded:
                await self._house.attempts.refused(refused.recorded)
            answer = PlainTextResponse(refused.told + "\n", refused.status, {"Connection": "close"})
            await answer(scope, receive, guarded)
            return
        await self._app(scope, _read_already(body, receive), guarded)


def _check_head(scope: Scope, hosts: frozenset[str]) -> None:
    headers = Headers(scope=scope)
    if sum(len(name) + len(value) for name, value in scope["headers"]) > _MOST_HEAD_BYTES:
        raise RefusedError(431, f"The head of a request has at most {_MOST_HEAD_BYTES // 1024} KiB.")
    named = headers.getlist("host")
    if len(named) != 1 or named[0].lower() not in hosts:
        told = "This console is not called so. Its own address stands in the line that `cloister console` printed."
        raise RefusedError(421, told, "a request for another host")
    if scope["method"] not in _METHODS:
        raise RefusedError(405, "Pages are read by GET and forms are sent by POST.")
    raw: bytes = scope["raw_path"].lower()
    if any(each in raw for each in (b"..", b"%2e", b"%2f", b"%5c", b"\\", b"%00", b"//")):
        raise RefusedError(404, "There is no such page.", "a path that leads out" if b"." in raw else None)
    # Forms come from the console's own pages alone, and nothing of it is shown inside a page of others. Of a form whose
    # page has the policy no-referrer browsers say `Origin: null`, and then also Sec-Fetch-Site, which no page can set.
    # Who sends neither is no browser that was led here.
    method, host = scope["method"], named[0].lower()
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    foreign = "A form or request from another page than the console's own is refused."
    if site in ("cross-site", "same-site") and (method == "POST" or headers.get("sec-fetch-mode") != "navigate"):
        raise RefusedError(403, foreign, "a request from a foreign origin")
    own = origin in (f"http://{host}", f"https://{host}") or (origin in (None, "null") and site == "same-origin")
    if method == "POST" and not own:
        raise RefusedError(403, foreign, "a request from a foreign origin")


async def _read_body(headers: Headers, receive: Receive, seconds: float) -> bytes:
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise RefusedError(415, f"A form is sent as {_FORM}.")
    length = headers.get("content-length", "0")
    too_long = RefusedError(413, f"A form has at most {MOST_BODY_BYTES // 1024} KiB.", "a form that is too long")
    if not length.isdecimal() or len(length) > 15 or int(length) > MOST_BODY_BYTES:
        raise too_long
    body, more = b"", True
    try:
        async with asyncio.timeout(seconds):
            while more:
                message = await receive()
                if message["type"] != "http.request":
                    raise RefusedError(400, "The form was cut off.")
                body += message.get("body", b"")
                more = bool(message.get("more_body"))
                if len(body) > MOST_BODY_BYTES:
                    raise too_long
    except TimeoutError:
        raise RefusedError(408, f"The form did not come within {seconds:.0f} seconds.") from None
    return body


def _read_already(body: bytes, receive: Receive) -> Receive:
    """Return the function that gives the application the body that was read, and after it whatever else comes."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
