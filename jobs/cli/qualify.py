"""`cloister qualify`: how good, fast and cheap the answers of a job are, on documents whose answers are known."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.learn import examples_of, refusal_of
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.config.load import did_you_mean, shown
from jobs.config.plan import make_plan
from jobs.config.workspace import Workspace, find_job, load_job_of, open_workspace
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.progress import telling
from jobs.record import record
from jobs.visible import counted

_HOUR = re.compile(r"([0-9]+(?:\.[0-9]+)?)/h", re.ASCII)

EvalOption = Annotated[
    Path | None,
    typer.Option(
        "--eval",
        metavar="PATH",
        help="Documents whose answers are known: a folder with a folder for each label, or a CSV or JSONL file "
        "with `text` or `document`, and `label`, fields or `summary`; or the word review: the rows that people "
        "accepted or corrected; else the file that the job names.",
        show_default=False,
    ),
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="NAME", help="Measure this model beside the job's own; may be repeated."),
]
HeadsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--head", metavar="NAME", help="Measure this learned head, on the model of which it is; may be repeated."
    ),
]
FloorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--floor",
        metavar="NAME=LEAST",
        help="What a figure must reach, such as macro_f1=0.9, instead of the floor of the job; may be repeated.",
    ),
]
PriceOption = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="PRICE/h", help="What an hour of this machine costs, such as 0.34/h.", show_default=False
    ),
]
ApiPriceOption = Annotated[
    float | None,
    typer.Option(
        "--api-price",
        metavar="PRICE",
        min=0,
        help="What a million tokens cost from a service; with --price.",
        show_default=False,
    ),
]
GpuPriceOption = Annotated[
    float | None,
    typer.Option(
        "--gpu-price",
        metavar="PRICE",
        min=0,
        help="What a million tokens cost on a rented GPU; with --price.",
        show_default=False,
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write a page in HTML for people, too.", show_default=False),
]


def qualify(
    job: Annotated[str, typer.Argument(metavar="JOB", help="The job: its name, or the path of its file.")],
    evaluation: EvalOption = None,
    models: ModelsOption = None,
    heads: HeadsOption = None,
    floor: FloorOption = None,
    price: PriceOption = None,
    api_price: ApiPriceOption = None,
    gpu_price: GpuPriceOption = None,
    report: ReportOption = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure a job on documents whose answers are known: it answers them as a run does, and commits no row.

    Tells how good the answers are, each label or field, with intervals; how fast and large the model is; and what that
    costs. Other models and heads are compared. What was measured is recorded in the log, where runs of jobs that demand
    quality look. Exit 2 for examples that cannot be used, also because they were learned from; 3 for a refused model,
    and where the job as it is does not reach the floor.
    """
    if report:
        _check_report(report)
    place = open_workspace(workspace)
    loaded = load_job_of(place, find_job(place, job))
    plan = make_plan(place, loaded)
    asked = pipeline.Asked(
        source=_source(plan, evaluation),
        models=tuple(models or ()),
        heads=tuple(heads or ()),
        floor=_floor(loaded.config.task.type, floor) if floor else dict(plan.quality.floor) if plan.quality else {},
        prices=_prices(price, api_price, gpu_price),
    )
    found = _qualified(place, plan, asked)
    if report:
        pipeline.write_page(report, found, _made())
    if as_json:
        print_json({"passed": found.passed, "qualification": found})
    else:
        _print(found, report)
    raise typer.Exit(int(ExitCode.DONE if found.passed else ExitCode.MODEL_REFUSED))


def _check_report(report: Path) -> None:
    """ConfigError for a report that could not be written, before anything is measured."""
    if report.is_dir():
        raise ConfigError(Problem("--report", f"{shown(report)} is a folder", "a file, such as report.html"))
    if not os.access(report.parent, os.W_OK):
        found = "nothing can be written there" if report.parent.is_dir() else "there is no such folder"
        raise ConfigError(Problem("--report", f"{shown(report.parent)}: {found}", "a file in a folder of yours"))


def _qualified(place: Workspace, plan: pipeline.RunPlan, asked: pipeline.Asked) -> pipeline.Qualification:
    """Measure the job, and record that in the log. Raises ConfigError for examples that cannot be used."""
    try:
        with telling("qualify") as progress, examples_of(plan, asked.source, placed=False) as source:
            found = pipeline.qualify(plan, replace(asked, source=source), progress)
    except pipeline.ExamplesRefusedError as error:
        raise refusal_of(error, asked.source) from None
    found = replace(found, eval=asked.source)
    for facts in found.records(_told(place, plan, asked.source)):
        record(plan.site, facts)
    return found


def _source(plan: pipeline.RunPlan, given: Path | None) -> Path:
    if given is not None:
        return given
    if plan.quality is None:
        found = "is missing, and the job names no evaluation file"
        raise ConfigError(Problem("--eval", found, "a folder or file of documents whose answers are known"))
    return plan.quality.eval


def _floor(task: str, said: list[str]) -> dict[str, float]:
    """The floor that was given as NAME=LEAST."""
    known, floor = list(pipeline.MEASURES.get(task, ())), dict[str, float]()
    for one in said:
        name, _, least = one.partition("=")
        if name not in known:
            raise ConfigError(Problem("--floor", repr(one), f"one of {', '.join(known)}", did_you_mean(name, known)))
        try:
            floor[name] = float(least)
        except ValueError:
            floor[name] = 2.0
        if not -1 <= floor[name] <= 1:
            raise ConfigError(Problem("--floor", repr(one), "a number up to 1", f"such as {name}=0.9"))
    return floor


def _prices(hour: str | None, api: float | None, gpu: float | None) -> pipeline.Prices | None:
    if hour is None:
        if api is not None or gpu is not None:
            found = "is missing, with which other prices are compared"
            raise ConfigError(Problem("--price", found, "what an hour of this machine costs", "such as --price 0.34/h"))
        return None
    match = _HOUR.fullmatch(hour)
    if match is None or not float(match[1]):
        raise ConfigError(Problem("--price", repr(hour), "a price an hour above 0, such as 0.34/h"))
    return pipeline.Prices(float(match[1]), api, gpu)


def _told(place: Workspace, plan: pipeline.RunPlan, source: Path) -> str:
    """The evaluation file as the log may say it: from the workspace where it lies there; not that of a private job."""
    if str(source) == pipeline.REVIEW:
        return "" if plan.private else pipeline.REVIEW
    real, root = source.resolve(), place.root.resolve()
    told = str(real.relative_to(root) if real.is_relative_to(root) else real)
    return "" if plan.private else told.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _made() -> str:
    return f"Made {datetime.now(UTC).strftime('%Y-%m-%d %H:%M')} UTC by cloister {version('cloister')}."


def _print(found: pipeline.Qualification, report: Path | None) -> None:
    again = f", {found.again:,} given twice and counted once" if found.again else ""
    say(f"{found.job}: {counted(found.documents, 'document')} of {found.eval.name}{again}")
    head = ("model", found.compared, "from", "to", "docs/h", "files MiB", "memory MiB", "frontier")
    cells = [
        (
            one.name, *_interval(one.figure(found.compared)), f"{one.documents_an_hour:,.0f}", _mib(one.bytes),
            _mib(one.peak_bytes), "yes" if one.frontier else "no",
        )
        for one in found.measured
    ]  # fmt: skip
    print_table(head, cells, right=head[1:], whole=("model",))
    _print_own(found.measured[0])
    for one in found.measured if found.prices else ():
        _print_costs(one)
    for note in found.notes:
        say(f"note: {note}")
    if report:
        say(f"report: {shown(report)}")
    if found.floor:
        say("the floor is reached" if found.passed else f"below the floor: {'; '.join(found.measured[0].missed)}")


def _print_own(one: pipeline.Measured) -> None:
    judgement = one.judgement
    for figure in judgement.figures:
        value, low, high = _interval(figure)
        say(f"  {figure.name:<14} {value} ({low} to {high})  {pipeline.WORDS[figure.name]}")
    if judgement.calibration:
        say(f"  {'scores':<14} wrong by {judgement.calibration.error:.3f} on average")
    _print_labels(judgement.labels)
    _print_fields(judgement.fields)


def _print_labels(labels: Sequence[pipeline.LabelScore]) -> None:
    head = ("label", "documents", "answers", "precision", "recall", "F1")
    cells = [
        (one.name, f"{one.documents:,}", f"{one.answered:,}", _share(one.precision), _share(one.recall), _share(one.f1))
        for one in labels
    ]
    if cells:
        print_table(head, cells, right=head[1:], whole=("label",))


def _print_fields(fields: Sequence[pipeline.FieldScore]) -> None:
    head = ("field", "documents", "present", "exact", "normalised", "F1", "F1 present", "absent answered")
    cells = [
        (
            one.name, f"{one.documents:,}", f"{one.present:,}", _share(one.exact), _share(one.normalised),
            _share(one.token_f1), _share(one.present_f1), f"{one.absent_answered:,}",
        )
        for one in fields
    ]  # fmt: skip
    if cells:
        print_table(head, cells, right=head[1:], whole=("field",))


def _print_costs(one: pipeline.Measured) -> None:
    if one.costs is None:
        return
    costs = one.costs
    say(f"  {one.name}: {costs.documents:,.3g} for 1,000 documents, {costs.tokens:,.3g} for 1,000,000 tokens")
    for what, even in (("a service", costs.api), ("a GPU", costs.gpu)):
        if even:
            more = "" if even.reached else ", more than this machine can do"
            say(f"    cheaper than {what} from {even.tokens:,.0f} tokens ({even.documents:,.0f} documents) a day{more}")


def _interval(figure: pipeline.Figure) -> tuple[str, str, str]:
    return _share(figure.value), _share(figure.low), _share(figure.high)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _mib(size: int | None) -> str:
    return "-" if size is None else f"{size / 2**20:,.1f}"
