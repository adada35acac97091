"""Decisions of people on rows, as the commands of `cloister review` make and tell them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.options import check_text
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.visible import one_line

RowArgument = Annotated[
    int,
    typer.Argument(
        metavar="ROW", min=0, help="The row, by the number of its entry: audit_index in the table, or `review list`."
    ),
]
AsOption = Annotated[str, typer.Option("--as", metavar="NAME", help="Who decides it; it stands in the log.")]
ReasonOption = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Why; it stands in the log.", show_default=False)
]


def decide(
    row: int, action: str, by: str, reason: str | None, answer: Mapping[str, Any] | None, workspace: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Decide on the row as the person `by`, and tell what became of it. ConfigError where that cannot be."""
    check_text("--as", by, "a person's name; it stands in the log")
    if reason is not None:
        check_text("--reason", reason, "why; it stands in the log")
    site = make_site(open_workspace(workspace))
    try:
        job = pipeline.job_of(site, row)
        outcome = pipeline.decide(site, pipeline.Review(job, row, action, by, reason, answer))
    except LookupError as error:
        raise ConfigError(Problem(f"ROW {row}", str(error.args[0]), "a row of `cloister review list`")) from error
    except pipeline.ReviewRefusedError as error:
        raise ConfigError(Problem(f"ROW {row}", str(error))) from error
    if outcome.why is not None and not outcome.waits:
        raise ConfigError(Problem(f"ROW {row}", outcome.why))
    if as_json:
        print_json({"row": row, "action": action, "by": by, "entry": outcome.n, "waits": outcome.waits})
    elif outcome.waits:
        say(f"{action}, and signed; it waits for the run that holds the log, which takes it up with its next part")
    else:
        say(f"{action} by entry {outcome.n}, which takes the place of entry {row}")
        changed = answer.get("fields", ()) if answer else ()
        for each in (pipeline.row_of(site, outcome.n).get("fields") or ()) if changed and outcome.n else ():
            if each["name"] in changed and each["value"] and each["note"]:
                say(f"{each['name']}: {one_line(each['value'])} ({each['note']})")
