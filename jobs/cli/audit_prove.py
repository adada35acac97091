"""`cloister audit prove`: one record of the log, with the proof that it is there."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

import audit
import pipeline
from jobs.cli.files import read_note, write_given
from jobs.cli.options import JsonOption, OutOption, WorkspaceOption
from jobs.cli.output import print_json, say, write_exact
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.record import record


def prove(
    number: Annotated[int, typer.Argument(metavar="N", help="The record's number in the log, from 0.", min=0)],
    out: OutOption = None,
    under: Annotated[
        Path | None,
        typer.Option("--under", metavar="FILE", help="Prove it under this kept or cosigned checkpoint, not today's."),
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write one record with its inclusion proof and the signed checkpoint.

    Whoever has the log's public key can check it anywhere, with `cloister audit check` or any other reader of
    c2sp.org/tlog-proof. The entry and its proof are checked, the rest of the log is not: `audit verify` does that.
    """
    site = make_site(open_workspace(workspace))
    checkpoint = read_note(under, "a checkpoint of this log") if under else None
    try:
        text = audit.prove(site.audit, site.public_key, number, checkpoint)
    except LookupError as error:
        raise ConfigError(Problem(str(number), str(error.args[0]))) from error
    record(site, pipeline.ReadProof(entry=number))
    if out:
        write_given(out, text.encode())
    if as_json:
        print_json({"entry": number, "proof": text, "file": out})
    elif out:
        key = _signer(site, text)
        what = "the log's public key" if key == site.public_key else "the earlier key that signed that checkpoint"
        say(f"The proof of entry {number} is in {out}. It is checked with {what}:")
        say(f"    cloister audit check {out} --key {key}")
    else:
        write_exact(text)


def _signer(site: pipeline.Site, text: str) -> str:
    """The one of the log's keys with which this proof holds."""
    for key in (site.public_key, *reversed(audit.key_history(site.audit, site.public_key))):
        with contextlib.suppress(audit.ProofRefused):
            audit.check_proof(text, key)
            return key
    return site.public_key
