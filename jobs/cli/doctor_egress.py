"""`cloister doctor --egress`: the proof that nothing reaches for a network, on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import NoReturn

import typer

from jobs.cli.output import print_json, say
from jobs.config.workspace import Workspace
from jobs.errors import ExitCode
from jobs.trust.finding import Level
from jobs.trust.proof import Proof, prove


def prove_silence(workspace: Workspace, job: str | None, as_json: bool) -> NoReturn:
    """Run a job under a tracer that counts connect, bind, sendto, sendmsg and questions to resolvers of names, where
    there is no route; tell what was seen, and exit."""
    proof = prove(workspace, job, (lambda _: None) if as_json else say)
    code = ExitCode.DONE if proof.finding.state is Level.OK else ExitCode.DEFECT
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
    for name, seen, count in proof.outside:
        say(f"{name}: {seen.program} (process {seen.pid}): {seen.call} to {seen.address}, {count:,} times")
    for each in proof.ran:
        for attempt in each.refused:
            say(f"{each.name}: {attempt}, which its guard refused before the kernel was asked")
    say(proof.finding.evidence)
