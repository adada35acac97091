"""One run of one job: the life of its documents in five stages (stages/), each of which gives a frozen value."""

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

import audit
from pipeline.errors import MachineRefusedError, ModelRefusedError
from pipeline.forecast import Pace
from pipeline.inbox.batches import Sightings
from pipeline.inbox.find import Found, find
from pipeline.outbox.space import log_full
from pipeline.plan import RunPlan
from pipeline.records.journal import log_refused
from pipeline.report import Observer, RunReport
from pipeline.rerun import find_archived
from pipeline.stages.ahead import Timer, look_ahead
from pipeline.stages.answer import answer
from pipeline.stages.begin import begin
from pipeline.stages.close import close
from pipeline.stages.open import Opened, open_run
from pipeline.stages.window import Clock, Window


def run(
    plan: RunPlan,
    *,
    observer: Observer,
    stop: Callable[[], bool] = lambda: False,
    sightings: Sightings | None = None,
    clock: Clock = time.time,
    timer: Timer = time.monotonic,
) -> RunReport:
    """Process every settled document of the job's input folder once, or what the plan says instead, and commit what
    comes of it.

    `sightings` are what earlier scans of the folder saw. When `stop()` becomes true, what is computed is committed and
    the rest stays pending; so too when by `clock` the window of the plan closes; `timer` says
    how long things take. Raises audit.AuditError (nothing more
    is processed), MachineRefusedError and ModelRefusedError (before any document is touched) and OSError (the workspace
    cannot be written). Whatever happens, the next run goes on from the last commit.
    """
    name = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ-") + secrets.token_hex(3)
    try:
        with open_run(plan, name, observer, timer) as opened:
            window = Window(stop, plan.until, clock, Pace(opened.history.took), plan.share_until)
            found = _found(opened, window, sightings or Sightings())
            ahead = look_ahead(opened, found, window)
            with begin(opened, found, window) as begun:
                tally = answer(opened, found, begun.ready, window, ahead)
            return close(opened, begun, tally, ahead)
    except (OSError, audit.LogUnwritable) as error:
        log_full(plan, name, error)
        raise
    except (ModelRefusedError, MachineRefusedError) as error:
        log_refused(plan, name, error)
        raise


def _found(opened: Opened, window: Window, sightings: Sightings) -> Found:
    """What the run takes: archived documents, if it is a rerun."""
    if opened.plan.rerun is None:
        return find(opened.plan, opened.history, opened.lost, opened.observer, window, sightings)
    return find_archived(opened.plan, opened.history, opened.job_digest, opened.model_sha256, opened.observer)
