"""`cloister console`: the page in the browser, and who may use it. No command that computes may import this file."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import pipeline
from jobs.cli.options import argument, option
from jobs.cli.printing import Answer, At, Table
from jobs.console.access.people import INVITE_HOURS, People, Person, why_no_name
from jobs.console.rights import Role
from jobs.console.serving import open_console
from jobs.errors import ConfigError, Problem

Name = Annotated[str, argument("NAME", "The person's name; it stands in the log.")]


def console(
    at: At,
    port: Annotated[int | None, option("--port", "The port on 127.0.0.1; 0 picks one.", "N", min=0, max=65535)] = None,
    socket: Annotated[
        Path | None, option("--socket", "Serve on a Unix socket instead, which its owner alone may use.", "PATH")
    ] = None,
    group: Annotated[bool, option("--group", "The group of the socket may use it, too (0660).")] = False,
) -> None:
    """Serve the workspace's pages to browsers on this machine, until Ctrl-C or SIGTERM.

    Who may come in: `cloister console invite NAME --role reviewer`. Nothing is served to other machines; a proxy on
    this one may, see jobs/console/README.md.
    """
    place = at.workspace

    def ready(url: str, people: int) -> None:
        nobody = "Nobody can sign in yet. In another terminal: cloister console invite NAME --role reviewer"
        lines = [f"{place.root}: {url}    (Ctrl-C ends it)", *([] if people else [nobody])]
        at.tell({"url": url, "people": people}, *lines)

    open_console(place, ready, port=port, path=socket, group=group)


def invite(
    at: At,
    name: Name,
    role: Annotated[list[Role], option("--role", "reader, reviewer, operator or auditor; more than once for several.")],
    hours: Annotated[float, option("--hours", "How long the link is good.", min=0.1, max=8760)] = INVITE_HOURS,
    url: Annotated[
        str | None, option("--url", "Where people find the console; else site.yaml's, else 127.0.0.1.", "URL")
    ] = None,
) -> Answer:
    """Print a link that lets somebody into the console, once; only its hash is kept.

    Somebody who is there already gets these roles instead of those they had, and a new passphrase.
    """
    if why := why_no_name(name):
        raise ConfigError(Problem("NAME", f"{name!r}", why))
    place = at.workspace
    roles = tuple(each for each in Role if each in role)
    token = People(place.root / "keys").invite(name, roles, hours)
    expires = datetime.fromtimestamp(datetime.now(UTC).timestamp() + hours * 3600, UTC).isoformat(timespec="seconds")
    link = f"{(url or place.site.console.address()).rstrip('/')}/join/{token}"
    at.record(pipeline.records.ConsoleInvited(person=name, roles=", ".join(roles), expires=expires))
    told = f"For {name}, as {', '.join(roles)}. The link is shown this once, works once, and until {expires}:"
    return Answer({"name": name, "roles": roles, "link": link, "expires": expires}, [told, f"    {link}"])


def people(at: At) -> Answer:
    """List who may use the console, in which roles, and which invites wait."""
    place = at.workspace
    known = sorted(People(place.root / "keys").all().values(), key=lambda each: each.name.casefold())
    told = [{"name": each.name, "roles": each.roles, "state": _state(each)} for each in known]
    proxied = place.site.console.people
    return Answer({"people": told, "by_proxy": proxied}, _people_lines(known, proxied))


def _people_lines(known: list[Person], proxied: Mapping[str, Sequence[str]]) -> Iterator[str | Table]:
    cells = [(each.name, ", ".join(each.roles), _state(each)) for each in known]
    nobody = "nobody yet; cloister console invite NAME --role reviewer"
    yield Table(("name", "roles", "state"), cells, whole=("name",)) if known else nobody
    for name, roles in sorted(proxied.items()):
        yield f"{name}: {', '.join(roles)}, by the proxy of site.yaml"


def _state(person: Person) -> str:
    if person.invite is None:
        return "may sign in"
    until = datetime.fromtimestamp(person.invite.expires, UTC)
    when = until.isoformat(timespec="seconds")
    return f"invited until {when}" if until > datetime.now(UTC) else f"the invite expired {when}"


def revoke(at: At, name: Name) -> Answer:
    """Take somebody out: their passphrase and invite are forgotten, and their sessions end with their next request."""
    People(at.workspace.root / "keys").revoke(name)
    at.record(pipeline.records.ConsoleRevoked(person=name))
    return Answer({"revoked": name}, [f"{name} may use the console no longer."])
