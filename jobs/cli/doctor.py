"""`cloister doctor --egress`: the proof that nothing reaches for a network, on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from jobs.cli.options import JsonOption, WorkspaceOption, job_names
from jobs.cli.output import counted, print_json, say
from jobs.errors import ExitCode
from jobs.silence.proof import Proof, prove
from jobs.workspace import open_workspace

EgressOption = Annotated[
    bool, typer.Option("--egress", help="Prove that nothing reaches for a network: run a job under a tracer.")
]
JobOption = Annotated[
    str | None,
    typer.Option(
        "--job",
        metavar="JOB",
        help="With --egress: run this job as it is; else one of the workspace's on documents of the proof.",
        autocompletion=job_names,
        show_default=False,
    ),
]


def doctor(
    egress: EgressOption = False, job: JobOption = None, workspace: WorkspaceOption = None, as_json: JsonOption = False
) -> None:
    """Prove that a job reaches for no network, nor anything that it starts, native code too: it runs under a tracer
    that counts connect, bind, sendto, sendmsg and questions to resolvers of names, and where there is no route.

    The job is one of the workspace, with its model, in a workspace for the proof alone, on documents that ask for a
    network. First the tracer proves itself, by calls on purpose. Exit 0: no call led out of this machine; 70: one did,
    a defect of ours unless it was a command of `notify`; 2: it cannot be proved here.
    """
    if not egress:
        raise typer.BadParameter("name what is to be proved", param_hint="--egress")
    proof = prove(open_workspace(workspace), job, (lambda _: None) if as_json else say)
    code = ExitCode.DEFECT if proof.outside else ExitCode.DONE
    if as_json:
        print_json(_told(proof) | {"exit_code": int(code)})
    else:
        _print(proof)
    raise typer.Exit(int(code))


def _told(proof: Proof) -> dict[str, object]:
    return {
        "caught": proof.caught,
        "without_route": proof.isolated,
        "commands": [
            {"command": name, "exit_code": it.code, "looked": it.looked, "sockets": it.sockets, "rings": it.rings}
            for name, it in proof.ran
        ],
        "outside": [{"command": name, **asdict(seen), "count": count} for name, seen, count in proof.outside],
    }


def _print(proof: Proof) -> None:
    looked = sum(it.looked for _, it in proof.ran)
    where = "without a route" if proof.isolated else "with the routes of this machine"
    for name, seen, count in proof.outside:
        say(f"{name}: {seen.program} (process {seen.pid}): {seen.call} to {seen.address}, {count:,} times")
    if proof.outside:
        say("Something reached for a network. Nothing was sent: the tracer refused it.")
        return
    say(f"Silent: {counted(len(proof.ran), 'command')} ran {where}, {looked:,} calls were looked at, 0 led out.")
