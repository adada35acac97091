"""`cloister serve`: runs the jobs of a workspace by themselves."""

import faulthandler
import os

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.progress import log_file, start_logging
from jobs.record import recorded_service
from jobs.stop import Stop, service_lock


def serve(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Run the workspace's jobs by their cron lines, or as files arrive.

    Ends with exit 0 on SIGTERM or Ctrl-C, after committing what is computed. Logs go to stderr.
    """
    from jobs.nights.ledger import Schedules  # no other command has to wait for what only a service needs
    from jobs.nights.service import Service
    from jobs.nights.systemd import Systemd
    from jobs.nights.wake import Wake

    place = open_workspace(workspace)
    pipeline.check_machine()
    said = place.site.service
    with (
        Systemd.of_environment(os.environ) as systemd, Stop(reloads=True) as stop, service_lock(place.log),
        log_file(place.root / said.log_file if said.log_file else None, said.log_bytes, said.log_keep) as file,
        Schedules() as schedules, Wake() as wake,
    ):  # fmt: skip
        if systemd.watched:
            faulthandler.enable()  # a watchdog that bites sends SIGABRT: then it is told where everything hung
        log = start_logging(file=file)
        service = Service(place, log, stop, schedules, wake, systemd=systemd)
        log.info("serving", workspace=str(place.root))
        with recorded_service(make_site(place), stop):
            service.run()
        log.info("stopped", signal=stop.signal.name if stop.signal else None)
    if as_json:
        print_json({"stopped_by": stop.signal.name if stop.signal else None, "jobs": service.totals})
