"""The input folders of the jobs that files start: which of them have files that no run has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from structlog.typing import FilteringBoundLogger

import pipeline
from jobs.nights.served import Served
from jobs.nights.wake import Wake
from jobs.plan import make_plan
from jobs.visible import one_line
from jobs.workspace import Workspace

RETRY_SECONDS = 10.0
QUIET_SECONDS = 10.0  # between looks at a folder from which word comes of each change
LOOK_SHARE = 20  # looking through a folder takes at most this part of the time


class Folders:
    """The folders below `wake`, by a `clock` in seconds."""

    def __init__(self, workspace: Workspace, log: FilteringBoundLogger, wake: Wake, clock: Callable[[], float]) -> None:
        self.workspace, self._log, self._wake, self._clock = workspace, log, wake, clock

    def follow(self, jobs: Iterable[Served]) -> None:
        """Hear of changes in the folders of these jobs, so that a look at one that changed comes early."""
        jobs = list(jobs)
        self._wake.follow(served.folder for served in jobs)
        for folder, reason in self._wake.silent():
            self._log.info(
                "folder is only looked at: it cannot be watched", folder=str(folder), reason=one_line(reason)
            )
        stirred = self._wake.stirred()
        for served in jobs:
            if served.folder in stirred:
                served.next_look = 0.0

    def has_new(self, served: Served) -> bool:
        """Whether a complete file lies there that did not when the last run began, if it is time to look. ConfigError.

        At first, files that wait for the rest of their batch count too: that rest may be what a run that was killed has
        processed, which only a run can tell.
        """
        began = self._clock()
        if began < max(served.next_look, served.rests_until, served.not_before):
            return False
        if served.source is None or not served.source.folder.is_dir():
            served.source = make_plan(
                self.workspace, served.job
            ).input  # which makes a folder of inbox/ that is missing
        try:
            found = pipeline.scan(served.source, sightings=served.sightings)
        except OSError as error:
            served.not_before = began + RETRY_SECONDS
            self._log.warning("folder cannot be looked at", job=served.job.name, problem=one_line(str(error)))
            return False
        served.rests_until = began + LOOK_SHARE * (self._clock() - began)
        quiet = self._wake.tells(served.folder) and not found.pending
        served.next_look = began + QUIET_SECONDS if quiet else 0.0
        if served.handled is None:
            return bool(found.ready or found.held)
        return not served.handled.issuperset(found.ready)
