"""What reached for a network is told in the log of the workspace, once the command has let go of it."""

from pathlib import Path

import pipeline
from jobs.errors import ConfigError
from jobs.plan import make_site
from jobs.record import record, tell_not_recorded
from jobs.silence.guard import attempts
from jobs.workspace import open_workspace


def record_attempts(root: Path | None, arguments: list[str]) -> None:
    """Record each attempt of a command of this workspace; one line says why not, where there is none."""
    try:
        site = make_site(open_workspace(root))
    except (ConfigError, OSError) as error:
        tell_not_recorded(f"the network that was refused: {error}")
        return
    command = " ".join(arguments[:1])
    for each in attempts():
        record(site, pipeline.NetworkRefused(command=command, call=each.call, address=each.address, by=each.by))
