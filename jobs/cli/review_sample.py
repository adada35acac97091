"""`cloister review sample`: random rows for a person to check, and how many of them were wrong."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.options import ByOption, JsonOption, WorkspaceOption, check_text, job_names, person
from jobs.cli.output import print_json, print_table, say
from jobs.cli.queue_options import check_job
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.record import record
from jobs.visible import counted

JobArgument = Annotated[
    str, typer.Argument(metavar="JOB", help="The job whose rows are checked.", autocompletion=job_names)
]
SizeOption = Annotated[
    int | None,
    typer.Option("--size", min=1, max=2_000, metavar="N", help="Draw N rows; if left out, the last sample is shown."),
]
SeedOption = Annotated[
    str | None,
    typer.Option("--seed", metavar="TEXT", help="Draw by this seed; if left out, by the root of the log as it is."),
]
LabelOption = Annotated[
    str | None, typer.Option("--label", metavar="LABEL", help="Draw only rows with this label.", show_default=False)
]


def sample(
    job: JobArgument,
    size: SizeOption = None,
    seed: SeedOption = None,
    label: LabelOption = None,
    by: ByOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw random rows of a job for checking, or show what came of the last ones.

    Drawn is from the rows that are done and that nobody has decided; the log keeps the seed and the rows. Decide on
    each by review accept, correct or reject. When all are decided, this tells how many of the answers were wrong, and
    between which bounds the share of wrong ones lies among all rows that were drawn from, with 95 % confidence
    (Clopper and Pearson).
    """
    place = open_workspace(workspace)
    check_job(place, job)
    site = make_site(place)
    with pipeline.open_queue(site) as queue:
        queue.refresh()
        if size is None:
            if seed or label:
                raise ConfigError(Problem("--seed" if seed else "--label", "without --size", "--size N to draw rows"))
            last = next(iter([*pipeline.samples(site, job)][-1:]), None)
            if last is None:
                raise ConfigError(Problem(job, "no sample was drawn", "--size N, to draw one"))
        else:
            last = _draw(site, queue, job, size, seed, label, person(by))
        standing = pipeline.standing(queue, last)
    if as_json:
        print_json(_told(standing))
    else:
        _print(standing, drawn=size is not None)


def _draw(
    site: pipeline.Site, queue: pipeline.Queue, job: str, size: int, seed: str | None, label: str | None, by: str
) -> pipeline.Sampled:
    if seed is not None:
        check_text("--seed", seed, "a seed, which stands in the log")
    try:
        drawn = pipeline.draw(site, queue, job, size, seed or pipeline.new_seed(site), by, label)
    except LookupError as error:
        raise ConfigError(Problem(job, str(error.args[0]))) from error
    record(site, drawn)
    return drawn


def _print(standing: pipeline.Standing, *, drawn: bool) -> None:
    its = standing.sample
    what = "drawn now" if drawn else f"drawn by {its.by}"
    of = f"{its.population:,} rows{f' with {its.label}' if its.label else ''}"
    say(f"{counted(len(its.entries), 'row')} of {its.of_job}, {what} from {of} by the seed {its.seed}")
    cells = [
        (str(row.entry), row.item.path if row.item else "", row.item.answer if row.item else "", row.verdict)
        for row in standing.rows
    ]
    print_table(("row", "document", "answer", "verdict"), cells, right=("row",), whole=("verdict",))
    if not standing.drawn_again:
        say("The seed does not give these rows: some were deleted since, or they were not drawn by it.")
    say(_verdict(standing))


def _verdict(standing: pipeline.Standing) -> str:
    wrong, looked_at, waits = standing.count("wrong"), standing.looked_at, standing.count("waits")
    if standing.interval is None:
        far = f"{wrong:,} of them wrong" if wrong else "none of them wrong"
        told = f"{looked_at:,} decided, {far}; " if looked_at else ""
        return f"{told}{waits:,} wait for a decision: cloister review show ROW, then accept, correct or reject"
    low, high = standing.interval
    share = f"{wrong:,} of {looked_at:,} wrong: {wrong / looked_at:.1%}"
    gone = (
        f" ({standing.count('gone'):,} were replaced or deleted before anybody looked)"
        if standing.count("gone")
        else ""
    )
    return f"{share}, between {low:.1%} and {high:.1%} with 95 % confidence{gone}"


def _told(standing: pipeline.Standing) -> dict[str, Any]:
    its = standing.sample
    counts = {name: standing.count(name) for name in ("right", "wrong", "waits", "gone")}
    rate = standing.count("wrong") / standing.looked_at if standing.is_complete else None
    return {
        "job": its.of_job, "label": its.label, "seed": its.seed, "log_size": its.size, "population": its.population,
        "by": its.by, "drawn_again": standing.drawn_again, "counts": counts, "error_rate": rate,
        "interval_95": standing.interval, "rows": standing.rows,
    }  # fmt: skip
