"""`cloister serve` and other commands as processes of their own, for the tests that watch or kill them."""

import json
import subprocess
import sys
from typing import Any

from tests.jobs.conftest import Place

COMMAND = (sys.executable, "-P", "-c", "from jobs.cli import main; main()")


def started(place: Place, *arguments: str) -> "subprocess.Popen[str]":
    """A command in this workspace."""
    command = [*COMMAND, *arguments, "--json", "--workspace", str(place.root)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def serve(place: Place) -> "subprocess.Popen[str]":
    """The service of the workspace."""
    return started(place, "serve")


def wait_for(process: "subprocess.Popen[str]", event: str, job: str | None = None) -> dict[str, Any]:
    """The next line of this event that the process writes."""
    assert process.stderr is not None
    for line in process.stderr:
        told: dict[str, Any] = json.loads(line)
        if told["event"] == event and job in (None, told.get("job")):
            return told
    raise AssertionError(f"the process ended before {event!r}")
