"""`cloister console invite`: a link with which somebody comes in, once."""

from datetime import UTC, datetime
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.console.access.people import INVITE_HOURS, People, why_no_name
from jobs.console.rights import Role
from jobs.errors import ConfigError, Problem
from jobs.record import record

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The person's name; it stands in the log.")]
RoleOption = Annotated[
    list[Role], typer.Option("--role", help="reader, reviewer, operator or auditor; more than once for several.")
]
HoursOption = Annotated[float, typer.Option("--hours", min=0.1, max=8760, help="How long the link is good.")]
UrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Where people find the console; else site.yaml's, else 127.0.0.1."),
]


def invite(
    name: NameArgument,
    role: RoleOption,
    hours: HoursOption = INVITE_HOURS,
    url: UrlOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a link that lets somebody into the console, once; only its hash is kept.

    Somebody who is there already gets these roles instead of those they had, and a new passphrase.
    """
    if why := why_no_name(name):
        raise ConfigError(Problem("NAME", f"{name!r}", why))
    place = open_workspace(workspace)
    roles = tuple(each for each in Role if each in role)
    token = People(place.root / "keys").invite(name, roles, hours)
    expires = datetime.fromtimestamp(datetime.now(UTC).timestamp() + hours * 3600, UTC).isoformat(timespec="seconds")
    link = f"{(url or place.site.console.address()).rstrip('/')}/join/{token}"
    record(make_site(place), pipeline.ConsoleInvited(person=name, roles=", ".join(roles), expires=expires))
    if as_json:
        print_json({"name": name, "roles": roles, "link": link, "expires": expires})
        return
    say(f"For {name}, as {', '.join(roles)}. The link is shown this once, works once, and until {expires}:")
    say(f"    {link}")
