"""`cloister serve`, which runs the jobs of a workspace by itself; `cloister cluster` and `worker`, other machines that
read and answer."""

import faulthandler
import os
import platform
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import pipeline
from jobs.cli.options import argument, option
from jobs.cli.printing import Answer, At, Out, Table
from jobs.config.cluster import ADDRESS_MEANS, FOLDER, cluster_of, need_address, need_dask
from jobs.config.workspace import keep_private
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.nights.cluster import Local, end, read_local, start, until_signal, wait_for_line, write_local
from jobs.progress import log_file, start_logging
from jobs.record import recorded_service
from jobs.stop import Stop, service_lock
from jobs.visible import counted


def serve(at: At) -> Answer:
    """Run the workspace's jobs by their cron lines, or as files arrive.

    Ends with exit 0 on SIGTERM or Ctrl-C, after committing what is computed. Logs go to stderr.
    """
    from jobs.nights.ledger import Schedules  # no other command has to wait for what only a service needs
    from jobs.nights.service import Service
    from jobs.nights.systemd import Systemd
    from jobs.nights.wake import Wake

    place = at.workspace
    pipeline.answer.check_machine()
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
        with recorded_service(at.site, stop):
            service.run()
        log.info("stopped", signal=stop.signal.name if stop.signal else None)
    return Answer({"stopped_by": stop.signal.name if stop.signal else None, "jobs": service.totals})


Credential = Annotated[Path, option("--credential", "The private key and certificates that speak for it.", "FILE")]
Host = Annotated[
    str, option("--host", "The address of this machine at which others find it; else none does.", "ADDRESS")
]
Port = Annotated[int, option("--port", "The port; 0 picks one.", "N", min=0, max=65535)]


def up(
    at: At,
    workers: Annotated[
        int, option("--workers", "Workers on this machine, which share its CPUs.", "N", min=0, max=64)
    ] = 1,
    host: Host = "127.0.0.1",
    port: Port = 8786,
) -> Answer:
    """Start a scheduler and workers on this machine, and say what to type on others. They run until `cluster down`.

    The first time it makes an authority and two credentials, in keys/cluster/: that of the head, and that of workers,
    which is to be copied to each other machine. Nobody without one of them can speak to the cluster. Without --host
    only this machine can.
    """
    root = at.workspace.root
    need_dask("cluster up")
    if local := read_local(root):
        found = f"runs already, at {local.address}"
        raise ConfigError(Problem("the cluster of this workspace", found, "none", "cloister cluster down"))
    head, worker = pipeline.cluster.make_credentials(root / FOLDER)
    arguments = ["cluster", "scheduler", "--host", host, "--port", str(port), "--credential", str(head)]
    scheduler = start(root, "scheduler", arguments)
    started, address = [scheduler], ""
    try:
        write_local(root, Local(address, tuple(started)))  # so that `down` ends what is half started, too
        address = wait_for_line(scheduler, "listening: ").removeprefix("listening: ")
        write_local(root, Local(address, tuple(started)))
        threads = max(1, (pipeline.answer.look_at_machine().threads or 1) // max(1, workers))
        for number in range(1, workers + 1):
            arguments = ["worker", address, "--credential", str(worker), "--models", str(root / "models")]
            name = f"worker-{number}"
            started.append(start(root, name, [*arguments, "--name", name], CLOISTER_THREADS=str(threads)))
            write_local(root, Local(address, tuple(started)))
        for process in started[1:]:
            wait_for_line(process, "listed: ")
    except BaseException:
        end(Local("", tuple(started)))
        raise
    alone = "                      which needs an address of this machine here: cloister cluster up --host ADDRESS"
    told = {"address": address, "credential": worker, "processes": [asdict(each) for each in started]}
    return Answer(told, [
        f"A scheduler and {counted(workers, 'worker')} run at {address}",
        f"Use them:             cloister run JOB --cluster {address}",
        f"On another machine:   cloister worker {address} --credential worker.pem --models FOLDER",
        f"                      with a copy of {worker}, which is a secret",
        *([alone] if host == "127.0.0.1" else []),
        "End them:             cloister cluster down",
    ])  # fmt: skip


def down(at: At) -> Answer:
    """End the scheduler and the workers that `cluster up` started on this machine. Runs go on without them."""
    local = read_local(at.workspace.root)
    ended = end(local) if local else 0
    told = f"{counted(ended, 'process')} ended" if ended else "No process of a cluster runs here"
    return Answer({"ended": ended}, [told])


def status(
    at: At,
    cluster: Annotated[
        str | None, option("--cluster", "The scheduler; else the one of site.yaml or `up`.", "ADDRESS")
    ] = None,
) -> Answer:
    """Show the workers that are listed, with their machines, and whether each may work on a run of this workspace.

    Exit 0: some may; 7: none may; 2: no scheduler answers.
    """
    place = at.workspace
    local = read_local(place.root)
    asked = cluster_of(place.root, place.site.cluster, cluster or (local.address if local else None))
    if asked is None:
        problem = Problem("--cluster", "no cluster is known", "the address of a scheduler", "cloister cluster up")
        raise ConfigError(problem)
    members = pipeline.cluster.look_at_workers(asked)
    table = Table(("worker", "host", "cpu", "isa", "state"), [_cells(member) for member in members])
    some_may = any(member["state"] == "ready" for member in members)
    told = {"address": asked.scheduler, "workers": members}
    return Answer(
        told, [f"{asked.scheduler}: {len(members)} listed", table], ExitCode.DONE if some_may else ExitCode.NEEDS_PERSON
    )


def _cells(member: dict[str, Any]) -> tuple[str, ...]:
    state = f"{member['state']}: {member['why']}" if member["why"] else member["state"]
    return (*(str(member.get(name, "")) for name in ("worker", "host", "cpu", "isa")), state)


def credential(
    at: At,
    out: Annotated[Path, argument("FILE", "The file to make, which nobody else may read.")],
    head: Annotated[bool, option("--head", "For the head of runs, and not for workers.")] = False,
) -> Answer:
    """Make a credential for one machine, valid for two years: so that each has its own, or when one expires."""
    root = at.workspace.root
    need_dask("cluster credential")
    if out.exists():
        raise ConfigError(Problem(str(out), "is there already", "a new file"))
    role = pipeline.cluster.HEAD_ROLE if head else pipeline.cluster.WORKER_ROLE
    pipeline.cluster.issue_credential(root / FOLDER, out, role)
    whose = "the head" if head else "a worker"
    return Answer({"file": out, "role": role}, [f"{out}: a secret for {whose}; copy it there, and delete it here"])


def scheduler(out: Out, credential: Credential, host: Host = "127.0.0.1", port: Port = 8786) -> None:
    """List the workers of a cluster for the heads of runs, until Ctrl-C or SIGTERM. It sees no document.

    `cluster up` starts one in the background; this is for a unit of systemd (configs/systemd/), or another supervisor.
    """
    need_dask("cluster scheduler")
    speaks = pipeline.cluster.read_credential(credential, pipeline.cluster.HEAD_ROLE)

    def ready(address: str) -> None:
        out.tell({"address": address}, f"listening: {address}")

    until_signal(lambda stop: pipeline.cluster.run_scheduler(host, port, speaks, stop, ready))


def worker(
    out: Out,
    address: Annotated[str, argument("ADDRESS", f"The address of the scheduler, {ADDRESS_MEANS}.")],
    credential: Credential,
    models: Annotated[
        Path,
        option("--models", "Where model files lie; one that a run needs and is not there is sent once.", "FOLDER"),
    ],
    name: Annotated[
        str | None, option("--name", "How it is called; the name of the machine if left out.", "NAME")
    ] = None,
) -> None:
    """Read and answer documents for runs on another machine, until Ctrl-C or SIGTERM.

    It waits for the scheduler, and for it to come back. Nothing of a document stays on this machine's disk. A run
    refuses a worker of other software by name. It uses the CPUs that CLOISTER_THREADS and its cgroup allow.
    """
    keep_private()
    need_address("worker", address)
    need_dask("worker")
    pipeline.answer.check_machine()
    speaks, called = pipeline.cluster.read_credential(credential, pipeline.cluster.WORKER_ROLE), name or platform.node()

    def told(line: str) -> None:
        out.tell({"worker": called, "said": line}, line)

    until_signal(lambda stop: pipeline.cluster.run_worker(address, speaks, called, models, stop, told))
