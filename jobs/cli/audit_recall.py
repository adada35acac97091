"""`cloister audit recall`: all results that a model touched."""

from __future__ import annotations

import re
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.record import record
from jobs.visible import counted


def recall(
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="MODEL", help="A model in models/, or a model's sha256, or at least six digits of it."
        ),
    ],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List every result that a model touched.

    For when a model turns out to be bad: which rows it made, where they lie, and which of them no longer hold because
    another row took their place, or they were deleted.
    """
    site = make_site(open_workspace(workspace))
    try:
        found = pipeline.recall(site, _sha256(site, model))
    except LookupError as error:
        raise ConfigError(Problem("--model", str(error.args[0]))) from error
    record(site, pipeline.ReadRecall(model_sha256=found.model_sha256))
    if as_json:
        rows = [
            {**each.facts, "superseded_by": each.superseded_by, "deleted_by": each.deleted_by}
            for each in found.results.values()
        ]
        decided = {"admission": found.decision} if found.decision else {}
        print_json({"model_sha256": found.model_sha256, **decided, "results": rows})
    else:
        _print(found)


def _sha256(site: pipeline.Site, model: str) -> str:
    """The sha256 that is meant, or its first digits. LookupError."""
    if re.fullmatch(r"[0-9a-f]{6,64}", model):
        return model
    try:
        return pipeline.model_sha256(pipeline.find_file(site.models, model)) or model
    except pipeline.ModelRefusedError as error:
        raise LookupError(str(error)) from error


def _print(found: pipeline.Recall) -> None:
    held = sum(each.holds for each in found.results.values())
    gone = sum(each.deleted_by is not None for each in found.results.values())
    deleted = f", {gone:,} of which are deleted" if gone else ""
    if found.decision:
        why = f": {found.decision.reason}" if found.decision.reason else ""
        say(f"{found.decision.in_words()}, as entry {found.decision.number} says{why}")
    say(f"model {found.model_sha256}: {counted(len(found.results), 'result')}, {held:,} of which hold{deleted}")
    head = ("entry", "job", "document", "state", "row", "replaced or deleted by")
    cells = [
        (
            str(each.facts["entry"]), each.facts["job"], each.facts["path"], each.facts["state"],
            f"{each.facts['row']} of {each.facts['part']}",
            ", ".join(f"entry {by}" for by in (each.superseded_by, each.deleted_by) if by is not None),
        )
        for each in found.results.values()
    ]  # fmt: skip
    print_table(head, cells, right=("entry",), whole=("job", "state"))
