"""`cloister doctor --egress`: the proof that nothing reaches for a network, on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import NoReturn

import typer

from jobs.cli.output import counted, print_json, say
from jobs.errors import ExitCode
from jobs.silence.proof import Proof, prove
from jobs.workspace import Workspace


def prove_silence(workspace: Workspace, job: str | None, as_json: bool) -> NoReturn:
    """Run a job under a tracer that counts connect, bind, sendto, sendmsg and questions to resolvers of names, where
    there is no route; tell what was seen, and exit."""
    proof = prove(workspace, job, (lambda _: None) if as_json else say)
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
