"""Signing in and out, and accepting an invite."""

from math import ceil
from urllib.parse import urlsplit

from starlette.responses import RedirectResponse, Response

import pipeline
from jobs.console.access.people import FEWEST, MOST, Person, why_no_name, why_refused
from jobs.console.admit import COOKIE, give_session, make_known, source_of, take_session
from jobs.console.attempt import RefusedError
from jobs.console.house import Visit
from jobs.console.page import page
from jobs.console.render import render
from jobs.console.rights import Right
from jobs.record import record


@page("/sign-in", None, asks=("next",))
def sign_in_page(visit: Visit, *, status: int = 200, told: str | None = None, name: str = "") -> Response:
    """The form by which people sign in; `told`: why it is shown instead of what they asked for."""
    asked = visit.form.get("next") or visit.query.get("next")
    address = visit.request.url
    here = _own_path(asked or (f"{address.path}?{address.query}" if address.query else address.path))
    return render(visit, "sign_in.html", status=status, told=told, next=here, name=name)


@page("/sign-in", None, "POST")
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


@page("/join/{token:str}", None)
def _invite(visit: Visit) -> Response:
    return _join_page(visit, _invited(visit), None)


@page("/join/{token:str}", None, "POST")
def _join(visit: Visit) -> Response:
    invited, passphrase = _invited(visit), visit.form.get("passphrase", "")
    differ = passphrase != visit.form.get("again", "")
    why = "The two passphrases differ." if differ else why_refused(passphrase)
    if why:
        return _join_page(visit, invited, why)
    person = visit.house.people.join(str(visit.path["token"]), passphrase)
    if person is None:
        raise _expired()
    return _begin(visit, person, "/")


def _join_page(visit: Visit, invited: Person, why: str | None) -> Response:
    return render(visit, "join.html", status=422 if why else 200, invited=invited, told=why, fewest=FEWEST, most=MOST)


def _invited(visit: Visit) -> Person:
    """Whose invite the address has. RefusedError."""
    person = visit.house.people.invited(str(visit.path["token"]))
    if person is None:
        raise _expired()
    return person


def _expired() -> RefusedError:
    told = "This invite was used, has expired, or never was. Ask an operator for another one: cloister console invite."
    return RefusedError(404, told, "an invite that is not good")


def _begin(visit: Visit, person: Person, then: str) -> Response:
    token, _ = visit.house.sessions.begin(person.name, person.mark)
    record(visit.site, pipeline.records.SignedIn(person=person.name, roles=", ".join(person.roles)))
    answer = RedirectResponse(then, 303)
    give_session(visit.house, answer, token)
    make_known(visit.house, answer, person)
    return answer


@page("/sign-out", Right.LISTS, "POST")
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
