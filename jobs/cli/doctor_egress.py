"""`cloister doctor --egress`: the proof that nothing reaches for a network, on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import NoReturn

import typer

from jobs.cli.output import print_json, say
from jobs.config.workspace import Workspace
from jobs.errors import ExitCode
from jobs.trust.proof import Proof, prove
from jobs.visible import counted


def prove_silence(workspace: Workspace, job: str | None, as_json: bool) -> NoReturn:
    """Run a job under a tracer that counts connect, bind, sendto, sendmsg and questions to resolvers of names, where
    there is no route; tell what was seen, and exit."""
    proof = prove(workspace, job, (lambda _: None) if as_json else say)
    code = ExitCode.DONE if proof.is_silent else ExitCode.DEFECT
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
            {
                "command": each.name,
                "exit_code": each.trace.code,
                "looked": each.trace.looked,
                "sockets": each.trace.sockets,
                "rings": each.trace.rings,
                "refused": each.refused,
                "answered": each.answered,
            }
            for each in proof.ran
        ],
        "outside": [{"command": name, **asdict(seen), "count": count} for name, seen, count in proof.outside],
    }


def _print(proof: Proof) -> None:
    looked = sum(each.trace.looked for each in proof.ran)
    answered = counted(sum(each.answered or 0 for each in proof.ran), "document")
    where = "without a route" if proof.isolated else "with the routes of this machine"
    for name, seen, count in proof.outside:
        say(f"{name}: {seen.program} (process {seen.pid}): {seen.call} to {seen.address}, {count:,} times")
    for each in proof.ran:
        for attempt in each.refused:
            say(f"{each.name}: {attempt}, which its guard refused before the kernel was asked")
    if not proof.is_silent:
        say("Something reached for a network. Nothing was sent: it was refused.")
        return
    commands = counted(len(proof.ran), "command")
    say(f"Silent: {commands} ran {where}, {answered} answered, {looked:,} calls were looked at, 0 led out.")
