"""`cloister review show`: one row with its evidence, and what else there is of its document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say, shortened
from jobs.cli.results import answer_of
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.record import record
from jobs.visible import one_line

RowArgument = Annotated[
    int,
    typer.Argument(metavar="ROW", min=0, help="The row, by the number of its entry, as `review list` tells it."),
]
_EVIDENCE = 10  # places that are told
_CHARACTERS = 300


def show(row: RowArgument, workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """Show one row: answer, evidence, notes, where its document lies, and its other rows.

    The row comes from its part and is held against the entry of the log that proves it.
    """
    site = make_site(open_workspace(workspace))
    with pipeline.open_queue(site) as queue:
        queue.refresh()
        try:
            whole, item = pipeline.row_of(site, row), queue.item(row)
        except LookupError as error:
            raise ConfigError(Problem(f"ROW {row}", str(error.args[0]), "a row of `cloister review list`")) from error
        others = [each for each in queue.same_document(row) if each.entry != row]
    private = pipeline.entry_of(site, row).private is not None
    record(site, pipeline.ReadStory(document=f"entry {row}" if private else item.document))
    original = pipeline.original_of(site.root, whole)
    if as_json:
        print_json({"row": whole, "item": item, "original": original, "other_rows": others})
        return
    _print(whole, item, None if original is None else str(original.relative_to(site.root)))
    for other in others:
        say(f"also       row {other.entry}, {other.job}: {_state(other)}, {one_line(other.answer)}")


def _print(row: dict[str, Any], item: pipeline.Item, original: str | None) -> None:
    say(f"row        {item.entry} of {item.job}, {item.time}")
    say(f"document   {one_line(item.path)}")
    say(f"state      {_state(item)}{': ' + one_line(row['reason']) if row['reason'] else ''}")
    for at, line in enumerate(answer_of(row).plain.split("\n")):
        say(f"{'answer' if at == 0 else '':<11}{line}")
    for place in _once(row["evidence"] or ())[:_EVIDENCE]:
        where = f"page {place['page']}, " if place["page"] else ""
        names = _spoken_for(row, place)
        say(f"evidence   {names}{where}{place['start']}-{place['end']}: {shortened(place['text'], _CHARACTERS)}")
    for note in row["notes"] or ():
        say(f"note       {one_line(note)}")
    say(f"original   {original or 'is not in archive/ any more'}")
    if item.newer_file is not None:
        say(f"newer      a newer file has this path: entry {item.newer_file:,}")
    if item.other_settings:
        say(f"settings   others than those of the job's newest row ({row['job_digest'][:8]})")
    if item.replaced_by is not None:
        say(f"replaced   by row {item.replaced_by}")


def _once(places: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The places without those that came before: several fields may rest on one."""
    return list({(place["page"], place["start"], place["end"]): place for place in places}.values())


def _spoken_for(row: dict[str, Any], place: dict[str, Any]) -> str:
    """The names of the fields that rest on the place, before it."""
    span = (place["start"], place["end"])
    found = [(each["name"], each["evidence"]) for each in row["fields"] or () if each["evidence"]]
    names = dict.fromkeys(one_line(name) for name, there in found if (there["start"], there["end"]) == span)
    return f"{', '.join(names)}: " if names else ""


def _state(item: pipeline.Item) -> str:
    return f"{item.state}, {item.review_action} by {item.review_by}" if item.review_action else item.state
