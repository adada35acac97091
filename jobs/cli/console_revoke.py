"""`cloister console revoke`: somebody may use the console no longer."""

import pipeline
from jobs.cli.console_invite import NameArgument
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.console.access.people import People
from jobs.record import record


def revoke(name: NameArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Take somebody out: their passphrase and invite are forgotten, and their sessions end with their next request."""
    place = open_workspace(workspace)
    People(place.root / "keys").revoke(name)
    record(make_site(place), pipeline.ConsoleRevoked(person=name))
    print_json({"revoked": name}) if as_json else say(f"{name} may use the console no longer.")
