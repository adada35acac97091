"""`cloister console people`: who may use the console."""

from datetime import UTC, datetime

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.config.workspace import open_workspace
from jobs.console.access.people import People, Person


def people(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List who may use the console, in which roles, and which invites wait."""
    place = open_workspace(workspace)
    known = sorted(People(place.root / "keys").all().values(), key=lambda each: each.name.casefold())
    proxied = place.site.console.people
    if as_json:
        told = [{"name": each.name, "roles": each.roles, "state": _state(each)} for each in known]
        print_json({"people": told, "by_proxy": proxied})
        return
    if known:
        print_table(
            ("name", "roles", "state"), [(p.name, ", ".join(p.roles), _state(p)) for p in known], whole=("name",)
        )
    else:
        say("nobody yet; cloister console invite NAME --role reviewer")
    for name, roles in sorted(proxied.items()):
        say(f"{name}: {', '.join(roles)}, by the proxy of site.yaml")


def _state(person: Person) -> str:
    if person.invite is None:
        return "may sign in"
    until = datetime.fromtimestamp(person.invite.expires, UTC)
    when = until.isoformat(timespec="seconds")
    return f"invited until {when}" if until > datetime.now(UTC) else f"the invite expired {when}"
