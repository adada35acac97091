"""`cloister serve` and other commands as processes of their own, for the tests that watch or kill them."""

import json
import os
import subprocess
import sys
from typing import Any

from tests.jobs.conftest import Place

COMMAND = (sys.executable, "-P", "-c", "from jobs.cli import main; main()")


class Process(subprocess.Popen[str]):
    """A process that does not outlive the test that fails beside it."""

    def __exit__(self, kind: type[BaseException] | None, *others: Any) -> None:
        if kind is not None:
            self.kill()
        super().__exit__(kind, *others)


def started(place: Place, *arguments: str, **environment: str) -> Process:
    """A command in this workspace, with these variables in its environment, too."""
    command = [*COMMAND, *arguments, "--json", "--workspace", str(place.root)]
    pipe = subprocess.PIPE
    return Process(command, stdout=pipe, stderr=pipe, text=True, env=os.environ | environment)


def serve(place: Place, **environment: str) -> Process:
    """The service of the workspace."""
    return started(place, "serve", **environment)


def wait_for(process: "subprocess.Popen[str]", event: str, job: str | None = None) -> dict[str, Any]:
    """The next line of this event that the process writes."""
    assert process.stderr is not None
    for line in process.stderr:
        told: dict[str, Any] = json.loads(line)
        if told["event"] == event and job in (None, told.get("job")):
            return told
    raise AssertionError(f"the process ended before {event!r}")
