"""Signing in and out, and accepting an invite."""

from math import ceil
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

import pipeline
from jobs.console.access.passphrase import FEWEST, MOST, why_refused
from jobs.console.access.people import Person, why_no_name
from jobs.console.admit import COOKIE, give_session, make_known, source_of, take_session
from jobs.console.house import Visit
from jobs.console.page import Page
from jobs.console.refused import RefusedError
from jobs.console.render import render
from jobs.console.rights import Right
from jobs.record import record

_EXPIRED = "This invite was used, has expired, or never was. Ask an operator for another one: cloister console invite"


def sign_in_page(visit: Visit, *, status: int = 200, told: str | None = None, name: str = "") -> Response:
    """The form by which people sign in; `told`: why it is shown instead of what they asked for."""
    asked = visit.form.get("next") or visit.query.get("next")
    address = visit.request.url
    here = _own_path(asked or (f"{address.path}?{address.query}" if address.query else address.path))
    return render(visit, "sign_in.html", status=status, told=told, next=here, name=name)


def _sign_in(visit: Visit) -> Response:
    name, passphrase = visit.form.get("name", "").strip(), visit.form.get("passphrase", "")
    person, patience = None, visit.house.patience
    if why_no_name(name):  # nobody is called so: nothing has to be compared or counted
        name = ""
    else:
        source = source_of(visit.request, visit.house.people.find(name))
        if wait := patience.begin(name, source):
            told = f"Too many attempts. Try again in {ceil(wait)} seconds, or by a browser that came in before."
            raise RefusedError(429, told)
        if person := visit.house.people.enters(name, passphrase):
            patience.succeeded(name, source)
    if person is None:
        visit.house.attempts.refused_here("a wrong name or passphrase")
        return sign_in_page(visit, status=401, told="This name and passphrase do not belong together.", name=name)
    return _begin(visit, person, _own_path(visit.form.get("next", "/")))


def _invite(visit: Visit) -> Response:
    person = visit.house.people.invited(str(visit.path["token"]))
    if person is None:
        raise RefusedError(404, _EXPIRED + ".", "an invite that is not good")
    return render(visit, "join.html", invited=person, told=None, fewest=FEWEST, most=MOST)


def _join(visit: Visit) -> Response:
    token, passphrase = str(visit.path["token"]), visit.form.get("passphrase", "")
    invited = visit.house.people.invited(token)
    if invited is None:
        raise RefusedError(404, _EXPIRED + ".", "an invite that is not good")
    why = why_refused(passphrase)
    if passphrase != visit.form.get("again", ""):
        why = "The two passphrases differ."
    if why:
        return render(visit, "join.html", status=422, invited=invited, told=why, fewest=FEWEST, most=MOST)
    person = visit.house.people.join(token, passphrase)
    if person is None:
        raise RefusedError(404, _EXPIRED + ".", "an invite that is not good")
    return _begin(visit, person, "/")


def _begin(visit: Visit, person: Person, then: str) -> Response:
    token, _ = visit.house.sessions.begin(person.name, person.mark)
    record(visit.site, pipeline.SignedIn(person=person.name, roles=", ".join(person.roles)))
    answer = RedirectResponse(then, 303)
    give_session(visit.house, answer, token)
    make_known(visit.house, answer, person)
    return answer


def _sign_out(visit: Visit) -> Response:
    visit.house.sessions.end(visit.request.cookies.get(COOKIE, ""))
    answer = RedirectResponse("/sign-in", 303)
    take_session(visit.house, answer)
    return answer


def _own_path(path: str) -> str:
    """A path of this console, to go on to after signing in; "/" for anything else."""
    split = urlsplit(path)
    own = path.startswith("/") and not path.startswith("//") and not split.netloc and not split.scheme
    plain = own and "\\" not in path and path.isprintable()
    return path if plain and split.path not in ("/sign-in", "/sign-out", "/live.json") else "/"


PAGES = (
    Page("/sign-in", sign_in_page, None, asks=("next",)),
    Page("/sign-in", _sign_in, None, "POST"),
    Page("/join/{token:str}", _invite, None),
    Page("/join/{token:str}", _join, None, "POST"),
    Page("/sign-out", _sign_out, Right.LISTS, "POST"),
)
