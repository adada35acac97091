"""Commands are recorded in the log of their workspace, or one line says why they are not."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pipeline
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError
from jobs.silence.guard import attempts
from jobs.stop import Stop
from jobs.visible import one_line


def record_attempts(root: Path | None, arguments: list[str]) -> None:
    """Record each attempt of a command of this workspace; one line says why not, where there is none."""
    try:
        site = make_site(open_workspace(root))
    except (ConfigError, OSError) as error:
        tell_not_recorded(f"the network that was refused: {error}")
        return
    command = " ".join(arguments[:1])
    for each in attempts():
        record(site, pipeline.records.NetworkRefused(command=command, call=each.call, address=each.address, by=each.by))


def record(site: pipeline.Site, facts: pipeline.records.Record) -> None:
    """Commit the record, or hand it to the one who holds the log. The command goes on in any case."""
    recorded = pipeline.records.record(site, facts)
    if recorded.why is not None:
        tell_not_recorded(recorded.why)


@contextlib.contextmanager
def recorded_service(site: pipeline.Site, stop: Stop) -> Iterator[None]:
    """Records when a service begins, and when it ends: of which signal, or of which error."""
    record(site, pipeline.records.ServiceStarted(pid=os.getpid(), version=metadata.version("cloister")))
    why = None
    try:
        yield
    except BaseException as error:
        why = type(error).__name__
        raise
    finally:
        why = why or (stop.signal.name if stop.signal else "no signal")
        record(site, pipeline.records.ServiceEnded(pid=os.getpid(), why=why))


def tell_not_recorded(why: str) -> None:
    """One line on stderr."""
    with contextlib.suppress(OSError):
        print(f"not recorded: {one_line(why)}", file=sys.stderr)
