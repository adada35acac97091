"""`cloister review list`: the rows that people should look at, the most urgent first."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer
from rich.text import Text

import pipeline
from jobs.cli.options import AllVersionsOption, JsonOption, NewestOption, WorkspaceOption, newest_of
from jobs.cli.output import print_json, print_table, say
from jobs.cli.queue_options import (
    DecidedOption,
    FailureOption,
    FolderOption,
    JobArgument,
    LabelOption,
    NightOption,
    SettingsOption,
    SortOption,
    StateOption,
    TextOption,
    chosen,
)
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.record import record
from jobs.visible import counted


def list_(
    job: JobArgument = None,
    state: StateOption = None,
    label: LabelOption = None,
    failure: FailureOption = None,
    folder: FolderOption = None,
    night: NightOption = None,
    text: TextOption = None,
    decided: DecidedOption = None,
    current_settings: SettingsOption = False,
    newest: NewestOption = False,
    all_versions: AllVersionsOption = False,
    sort: SortOption = "score",
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, metavar="N", help="At most N rows.")] = 20,
    after: Annotated[
        str | None, typer.Option("--after", metavar="PLACE", help="Go on behind the place that a list told last.")
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List rows that people should look at: in review first, then abstained, then the lowest scores.

    What a person has decided comes behind them, and what failed or came again last. --sort uncertain has the answers
    first of which the model was the least sure, whose labels teach it most. Each row is named by the number of its
    entry, which accept, correct, reject and show take. A row whose path has a newer file says so; it is left out where
    the job's last run said `versions: newest`, or where --newest asks for that. The list comes from an index in
    state/, which may be deleted at any time.
    """
    place, only = open_workspace(workspace), newest_of(newest, all_versions)
    wanted = chosen(
        place, job, state or (), label or (), failure or (), folder, night, text, decided, current_settings, sort
    )
    asked = replace(wanted.asked, versions={None: "rule", True: "newest", False: None}[only])
    site = make_site(place)
    with pipeline.open_queue(site) as queue:
        queue.refresh()
        try:
            page = queue.page(asked, wanted.sort, after, limit)
        except ValueError as error:
            raise ConfigError(Problem("--after", str(error), "the place that a list in the same order told")) from error
    record(site, pipeline.ReadResults(of_job=job, failed=asked.states == ("failed",), limit=limit))
    if as_json:
        print_json({"rows": page.items, "total": page.total, "after": page.next})
    elif not page.items:
        say("no row fits" if page.total == 0 else "there are no more rows")
    else:
        _print(page, job)


def _print(page: pipeline.Page, job: str | None) -> None:
    head, cells = ["row", "document", "state", "score", "answer"], [_cells(item) for item in page.items]
    if job is None:
        head.insert(1, "job")
        for item, row in zip(page.items, cells, strict=True):
            row.insert(1, item.job)
    print_table(head, cells, right=("row", "score"), whole=("job", "state"))
    more = f" of {page.total:,}" if page.total > len(page.items) else ""
    say(f"{counted(len(page.items), 'row')}{more}" + (f"; go on with --after '{page.next}'" if page.next else ""))
    say("look at one with: cloister review show ROW")


def _cells(item: pipeline.Item) -> list[str | Text]:
    state = f"{item.review_action} by {item.review_by}" if item.review_action else item.state
    score = "" if item.score is None else f"{item.score:.2f}"
    newer = f"\na newer file has this path: entry {item.newer_file:,}" if item.newer_file is not None else ""
    return [str(item.entry), f"{item.path}{newer}", state, score, item.answer]
