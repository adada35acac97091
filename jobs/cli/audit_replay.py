"""`cloister audit replay`: rows computed again, and held bit for bit against what was committed."""

from __future__ import annotations

import re
import secrets
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import counts_line, print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.progress import counting
from jobs.record import record
from jobs.visible import counted

_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%", re.ASCII)
_LISTED = 20
_SEEDS = 2**32


DocumentArgument = Annotated[
    str | None,
    typer.Argument(metavar="DOC", help="All rows of this document: its path below the input folder, or sha256."),
]
RunOption = Annotated[str | None, typer.Option("--run", metavar="R", help="All rows of this run.")]
SampleOption = Annotated[
    str | None, typer.Option("--sample", metavar="P%", help="So many of all rows, or of those of the run: 1%.")
]
SeedOption = Annotated[
    int | None,
    typer.Option("--seed", min=0, max=_SEEDS - 1, metavar="N", help="Draw the sample that this seed drew before."),
]


def replay(
    document: DocumentArgument = None,
    run: RunOption = None,
    sample: SampleOption = None,
    seed: SeedOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compute rows again and compare them bit for bit.

    The documents come from archive/ and failed/, the model is the file with the recorded sha256, the settings are those
    in the log: today's job files are not asked. Where a row is not the same, it is told which of input, settings,
    model, parser, software, text and result differ.

    Exit 4 if a row differs although everything that made it is the same; 1 if rows could not be compared, because
    something that made them is gone or is not the same any more, or if there was none to compare; 0 if all are
    identical. Rows that were deleted as the log says, or never computed, count for none of this, however they were
    chosen. What is compared is the log: `audit verify` holds the files in outbox/ against it.
    """
    choice = _choice(document, run, sample, seed)
    site = make_site(open_workspace(workspace))
    try:
        with counting("rows") as progress:
            done = pipeline.replay(site, choice, progress)
    except LookupError as error:
        raise ConfigError(Problem("--run" if document is None else "DOC", str(error.args[0]))) from error
    record(site, done.to_record())
    code = _code(done)
    if as_json:
        print_json({**vars(done), "counts": done.counts, "exit_code": int(code)})
    else:
        _print(done)
    raise typer.Exit(int(code))


def _choice(document: str | None, run: str | None, sample: str | None, seed: int | None) -> pipeline.Choice:
    if (document is None) == (run is None and sample is None):
        expected = "either DOC, or --run R, or --sample P%; the last two may stand together"
        raise ConfigError(Problem("audit replay", "nothing to replay" if document is None else "too much", expected))
    if seed is not None and sample is None:
        raise ConfigError(Problem("--seed", "no sample to draw", "--sample P% beside it"))
    drawn = seed if seed is not None or sample is None else secrets.randbelow(_SEEDS)
    return pipeline.Choice(document, run, 1.0 if sample is None else _share(sample), drawn or 0)


def _share(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    share = float(match[1]) / 100 if match else 0.0
    if not 0 < share <= 1:
        raise ConfigError(Problem(f"--sample {text}", "no share of rows", "a percentage over 0% and up to 100%: 1%"))
    return share


def _code(done: pipeline.Replay) -> ExitCode:
    counts = done.counts
    if counts["different"]:
        return ExitCode.AUDIT_FAILED
    compared = counts["identical"] and not counts["changed"] and not counts["incomparable"]
    return ExitCode.DONE if compared else ExitCode.DOCUMENTS_FAILED


def _print(done: pipeline.Replay) -> None:
    choice, counts = done.choice, done.counts
    if choice.share < 1:
        say(f"A sample of {100 * choice.share:g}% of {counted(done.of, 'row')}, drawn with --seed {choice.seed}.")
    if counts["different"]:
        say(f"OF {counted(sum(counts.values()), 'row').upper()}, {counts['different']:,} COULD NOT BE MADE AGAIN.")
    say(counts_line(counts).replace("no documents", "no rows"))
    for verdict in counts:
        _print_rows(verdict, done)


def _print_rows(verdict: str, done: pipeline.Replay) -> None:
    """Print the rows of one verdict, with its meaning; identical ones only where few are asked for."""
    rows = [row for row in done.rows if row.verdict == verdict and (row.reason or len(done.rows) <= _LISTED)]
    if not rows:
        return
    say()
    say(f"{verdict}: {rows[0].verdict.sentence}")
    for row in rows[:_LISTED]:
        say(f"  entry {row.entry}, {row.job}: {row.path}" + (f" ({row.reason})" if row.reason else ""))
    if (more := done.counts[verdict] - min(len(rows), _LISTED)) > 0:
        say(f"  and {more:,} more")
