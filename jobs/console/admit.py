"""Who a request comes from, and whether they may have the page: session or proxy, right, the token of a form."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from jobs.console.access.people import Person
from jobs.console.access.sessions import Spent
from jobs.console.attempt import RefusedError
from jobs.console.house import House, Visit
from jobs.console.rights import ALLOWS, Right, roles_with

COOKIE: Final = "cloister_session"
KNOWN: Final = "cloister_known"
_KNOWN_SECONDS: Final = 400 * 24 * 3600
TOKEN: Final = "token"
_MOST_FIELDS: Final = 1000
_UNSEEN: Final = frozenset({"/live.json"})
"""Paths that scripts ask for by themselves: they do not keep a session alive."""


class NotSignedInError(RefusedError):
    """Nobody, or nobody any more, is signed in."""

    def __init__(self, told: str = "Sign in to see this page.", recorded: str | None = None) -> None:
        super().__init__(401, told, recorded)


def admit(house: House, request: Request, right: Right | None, body: bytes) -> Visit:
    """The visit of a request to a page that asks for this right (None: everybody may have it). RefusedError."""
    visit = _visit(house, request, _form(body) if request.method == "POST" else {})
    if right is None:
        return visit
    person, session = visit.person, visit.session
    if person is None or session is None:
        raise NotSignedInError(recorded="an action without being signed in" if request.method == "POST" else None)
    if right not in person.rights:
        roles = " or ".join(roles_with(right))
        told = f"{person.name} may not {ALLOWS[right]}: that takes the role {roles}."
        raise RefusedError(403, told, f"no right to {ALLOWS[right]}")
    if request.method != "POST":
        return visit
    form = dict(visit.form)
    match session.spend(form.pop(TOKEN, "")):
        case Spent.WRONG:
            told = "The form is none of this session. Load its page again, and send it from there."
            raise RefusedError(403, told, "a form without the session's token")
        case Spent.REPLAYED:
            raise RefusedError(409, "This form was sent before, and is taken once.", "a form that was sent before")
    return replace(visit, form=form)


def _visit(house: House, request: Request, form: Mapping[str, str]) -> Visit:
    """The visit of whom the session, or the proxy, names; by the proxy with a session for their forms."""
    token = request.cookies.get(COOKIE, "")
    session = house.sessions.find(token, touch=request.url.path not in _UNSEEN) if token else None
    if house.proxy is None:
        person = house.people.find(session.person) if session else None
        if person is None or session is None or person.mark != session.mark:
            return Visit(house, request, form=form)
        return Visit(house, request, person, session, form)
    if _address(request) != house.proxy.address:
        raise RefusedError(403, "People come to this console through its proxy.", "a request past the proxy")
    named = request.headers.getlist(house.proxy.header)
    if len(named) != 1:
        raise NotSignedInError("The proxy names nobody.", "a request in which the proxy names nobody")
    person = house.proxied.get(named[0])
    if person is None:
        raise RefusedError(403, "The proxy names somebody who has no role here.", "somebody without a role")
    if session and session.person == person.name:
        return Visit(house, request, person, session, form)
    begun, session = house.sessions.begin(person.name, "")
    return Visit(house, request, person, session, form, begun)


def _address(request: Request) -> str:
    return request.client.host if request.client else "socket"


def give_session(house: House, answer: Response, token: str) -> None:
    """Give a browser the token of its session."""
    answer.set_cookie(COOKIE, token, path="/", secure=house.secure, httponly=True, samesite="strict")


def take_session(house: House, answer: Response) -> None:
    """Have a browser forget the token of its session."""
    answer.delete_cookie(COOKIE, path="/", secure=house.secure, httponly=True, samesite="strict")


def make_known(house: House, answer: Response, person: Person) -> None:
    """Give a browser by which somebody came in a sign of that, which nobody without their hashed passphrase can make:
    what others try in their name is not held against it."""
    answer.set_cookie(
        KNOWN, person.known_by(), _KNOWN_SECONDS, path="/sign-in", secure=house.secure, httponly=True, samesite="strict"
    )


def source_of(request: Request, person: Person | None) -> str:
    """Where an attempt to sign in as somebody comes from: a browser by which they came in before, or an address."""
    known = request.cookies.get(KNOWN, "")
    return known if person is not None and person.is_known(known) else _address(request)


def _form(body: bytes) -> dict[str, str]:
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(text, True, bool(text), errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise RefusedError(400, "What was sent is no form.") from None
    form = dict(pairs)
    if len(form) != len(pairs):
        raise RefusedError(400, "A form has each of its fields once.")
    return form
