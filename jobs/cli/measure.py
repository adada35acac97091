"""`cloister qualify`, how good, fast and cheap the answers of a job are, on documents whose answers are known; and
`cloister bench`, how fast a model is on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import pipeline
from jobs.cli.model import ModelFile, model_file
from jobs.cli.model_use import examples_of, refused_examples
from jobs.cli.options import argument, check_one_of, option
from jobs.cli.printing import Answer, At, Table
from jobs.config.load import shown
from jobs.config.plan import make_plan
from jobs.config.workspace import Workspace, find_job, load_job_of
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.progress import telling
from jobs.visible import counted

_HOUR = re.compile(r"([0-9]+(?:\.[0-9]+)?)/h", re.ASCII)


def qualify(
    at: At,
    job: Annotated[str, argument("JOB", "The job: its name, or the path of its file.")],
    evaluation: Annotated[
        Path | None,
        option(
            "--eval",
            "Documents whose answers are known: a folder with a folder for each label, or a CSV or JSONL file "
            "with `text` or `document`, and `label`, fields or `summary`; or the word review: the rows that people "
            "accepted or corrected; else the file that the job names.",
            "PATH",
        ),
    ] = None,
    models: Annotated[
        list[str] | None, option("--model", "Measure this model beside the job's own; may be repeated.", "NAME")
    ] = None,
    heads: Annotated[
        list[str] | None,
        option("--head", "Measure this learned head, on the model of which it is; may be repeated.", "NAME"),
    ] = None,
    floor: Annotated[
        list[str] | None,
        option(
            "--floor",
            "What a figure must reach, such as macro_f1=0.9, instead of the floor of the job; may be repeated.",
            "NAME=LEAST",
        ),
    ] = None,
    price: Annotated[
        str | None, option("--price", "What an hour of this machine costs, such as 0.34/h.", "PRICE/h")
    ] = None,
    api_price: Annotated[
        float | None, option("--api-price", "What a million tokens cost from a service; with --price.", "PRICE", min=0)
    ] = None,
    gpu_price: Annotated[
        float | None, option("--gpu-price", "What a million tokens cost on a rented GPU; with --price.", "PRICE", min=0)
    ] = None,
    report: Annotated[Path | None, option("--report", "Write a page in HTML for people, too.", "FILE")] = None,
) -> Answer:
    """Measure a job on documents whose answers are known: it answers them as a run does, and commits no row.

    Tells how good the answers are, each label or field, with intervals; how fast and large the model is; and what that
    costs. Other models and heads are compared. What was measured is recorded in the log, where runs of jobs that demand
    quality look. Exit 2 for examples that cannot be used, also because they were learned from; 3 for a refused model,
    and where the job as it is does not reach the floor.
    """
    if report:
        _check_report(report)
    place = at.workspace
    loaded = load_job_of(place, find_job(place, job))
    plan = make_plan(place, loaded)
    asked = pipeline.quality.Asked(
        source=_source(plan, evaluation),
        models=tuple(models or ()),
        heads=tuple(heads or ()),
        floor=_floor(loaded.config.task.type, floor) if floor else dict(plan.quality.floor) if plan.quality else {},
        prices=_prices(price, api_price, gpu_price),
    )
    source = asked.source
    with refused_examples(source), telling("qualify") as progress, examples_of(plan, source, placed=False) as file:
        found = pipeline.qualify(plan, replace(asked, source=file), progress)
    found = replace(found, eval=source)
    at.record(*found.records(_told(place, plan, source)))
    if report:
        made = f"Made {datetime.now(UTC).strftime('%Y-%m-%d %H:%M')} UTC by cloister {version('cloister')}."
        pipeline.quality.write_page(report, found, made)
    code = ExitCode.DONE if found.passed else ExitCode.MODEL_REFUSED
    return Answer({"passed": found.passed, "qualification": found}, _lines(found, report), code)


def _check_report(report: Path) -> None:
    """ConfigError for a report that could not be written, before anything is measured."""
    if report.is_dir():
        raise ConfigError(Problem("--report", f"{shown(report)} is a folder", "a file, such as report.html"))
    if not os.access(report.parent, os.W_OK):
        found = "nothing can be written there" if report.parent.is_dir() else "there is no such folder"
        raise ConfigError(Problem("--report", f"{shown(report.parent)}: {found}", "a file in a folder of yours"))


def _source(plan: pipeline.RunPlan, given: Path | None) -> Path:
    if given is not None:
        return given
    if plan.quality is None:
        found = "is missing, and the job names no evaluation file"
        raise ConfigError(Problem("--eval", found, "a folder or file of documents whose answers are known"))
    return plan.quality.eval


def _floor(task: str, said: list[str]) -> dict[str, float]:
    known, floor = list(pipeline.tasks.MEASURES.get(task, ())), dict[str, float]()
    for one in said:
        name, _, least = one.partition("=")
        if name not in known:
            check_one_of("--floor", one, known, meant=name)
        try:
            floor[name] = float(least)
        except ValueError:
            floor[name] = 2.0
        if not -1 <= floor[name] <= 1:
            raise ConfigError(Problem("--floor", repr(one), "a number up to 1", f"such as {name}=0.9"))
    return floor


def _prices(hour: str | None, api: float | None, gpu: float | None) -> pipeline.quality.Prices | None:
    if hour is None:
        if api is not None or gpu is not None:
            found = "is missing, with which other prices are compared"
            raise ConfigError(Problem("--price", found, "what an hour of this machine costs", "such as --price 0.34/h"))
        return None
    match = _HOUR.fullmatch(hour)
    if match is None or not float(match[1]):
        raise ConfigError(Problem("--price", repr(hour), "a price an hour above 0, such as 0.34/h"))
    return pipeline.quality.Prices(float(match[1]), api, gpu)


def _told(place: Workspace, plan: pipeline.RunPlan, source: Path) -> str:
    """The evaluation file as the log may say it: from the workspace where it lies there; not that of a private job."""
    if plan.private:
        return ""
    if str(source) == pipeline.review.REVIEW:
        return pipeline.review.REVIEW
    real, root = source.resolve(), place.root.resolve()
    told = str(real.relative_to(root) if real.is_relative_to(root) else real)
    return told.encode(errors="surrogateescape").decode(errors="backslashreplace")


def _lines(found: pipeline.quality.Qualification, report: Path | None) -> Iterator[str | Table]:
    again = f", {found.again:,} given twice and counted once" if found.again else ""
    yield f"{found.job}: {counted(found.documents, 'document')} of {found.eval.name}{again}"
    head = ("model", found.compared, "from", "to", "docs/h", "files MiB", "memory MiB", "frontier")
    cells = [
        (
            one.name, *_interval(one.figure(found.compared)), f"{one.documents_an_hour:,.0f}", _mib(one.bytes),
            _mib(one.peak_bytes), "yes" if one.frontier else "no",
        )
        for one in found.measured
    ]  # fmt: skip
    yield Table(head, cells, right=head[1:], whole=("model",))
    yield from _own(found.measured[0])
    for one in found.measured if found.prices else ():
        yield from _costs(one)
    yield from (f"note: {note}" for note in found.notes)
    if report:
        yield f"report: {shown(report)}"
    if found.floor:
        yield "the floor is reached" if found.passed else f"below the floor: {'; '.join(found.measured[0].missed)}"


def _own(one: pipeline.quality.Measured) -> Iterator[str | Table]:
    judgement = one.judgement
    for figure in judgement.figures:
        value, low, high = _interval(figure)
        yield f"  {figure.name:<14} {value} ({low} to {high})  {pipeline.tasks.FIGURES[figure.name]}"
    if judgement.calibration:
        yield f"  {'scores':<14} wrong by {judgement.calibration.error:.3f} on average"
    if judgement.labels:
        head: tuple[str, ...] = ("label", "documents", "answers", "precision", "recall", "F1")
        labels = [
            (it.name, f"{it.documents:,}", f"{it.answered:,}", _share(it.precision), _share(it.recall), _share(it.f1))
            for it in judgement.labels
        ]
        yield Table(head, labels, right=head[1:], whole=("label",))
    if judgement.fields:
        head = ("field", "documents", "present", "exact", "normalised", "F1", "F1 present", "absent answered")
        fields = [
            (
                it.name, f"{it.documents:,}", f"{it.present:,}", _share(it.exact), _share(it.normalised),
                _share(it.token_f1), _share(it.present_f1), f"{it.absent_answered:,}",
            )
            for it in judgement.fields
        ]  # fmt: skip
        yield Table(head, fields, right=head[1:], whole=("field",))


def _costs(one: pipeline.quality.Measured) -> Iterator[str]:
    if one.costs is None:
        return
    costs = one.costs
    yield f"  {one.name}: {costs.documents:,.3g} for 1,000 documents, {costs.tokens:,.3g} for 1,000,000 tokens"
    for what, even in (("a service", costs.api), ("a GPU", costs.gpu)):
        if even:
            more = "" if even.reached else ", more than this machine can do"
            daily = f"{even.tokens:,.0f} tokens ({even.documents:,.0f} documents) a day"
            yield f"    cheaper than {what} from {daily}{more}"


def _interval(figure: pipeline.tasks.Figure) -> tuple[str, str, str]:
    return _share(figure.value), _share(figure.low), _share(figure.high)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _mib(size: int | None) -> str:
    return "-" if size is None else f"{size / 2**20:,.1f}"


def bench(
    at: At,
    model: ModelFile,
    tokens: Annotated[str | None, option("--tokens", "Tokens of a text; else 32, 128, 256 and 512.", "N,…")] = None,
    threads: Annotated[
        str | None, option("--threads", "Numbers of threads; else one, and as many as a run has.", "N,…")
    ] = None,
    seconds: Annotated[float, option("--seconds", "How long each measurement lasts.", "S", min=0.01, max=3600)] = 1.0,
) -> Answer:
    """Measure a model on this machine.

    Texts and tokens a second by length and number of threads; the share of the CPU's integer multiply-adds and of the
    memory's bandwidth that each part of the model reaches; how long the start takes, and how much memory.
    """
    path = model_file(at, model)
    sizes, counts = _numbers("--tokens", tokens), _numbers("--threads", threads)
    try:
        with telling("bench") as progress:
            found = pipeline.bench.bench_model(path, sizes, counts, seconds, progress)
    except ValueError as error:
        raise ConfigError(Problem("--tokens", str(tokens), str(error))) from error
    return Answer(found, _bench_lines(found))


def _numbers(option: str, text: str | None) -> list[int] | None:
    """`32,128` as numbers, each once, in order."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and 0 < int(word) <= 2**20 for word in words):
        raise ConfigError(Problem(option, repr(text), "numbers from 1, separated by commas"))
    return sorted({int(word) for word in words})


def _bench_lines(found: pipeline.bench.Bench) -> Iterator[str | Table]:
    model, engine = found.model, found.engine
    yield f"{model['name']} ({model['architecture']}, {engine['types']}), arithmetic {found.numerics}"
    yield f"{engine['cpu']}, {found.cpus} CPUs, instruction set {engine['isa']}"
    for start in found.starts[:1]:
        memory = f"{start.own_bytes / 2**20:,.0f} MiB of memory beyond mapped files"
        loading = f"{start.load_seconds:.2f} s of it the loading"
        yield f"first vector {start.seconds:.2f} s after the start, {loading}; {memory}"
    head = ("threads", "tokens", "texts/s", "tokens/s")
    cells = [
        (f"{each.threads}", f"{each.tokens}", f"{each.texts_per_second:,.1f}", f"{each.tokens_per_second:,.0f}")
        for each in found.speeds
    ]
    yield ""
    yield Table(head, cells, right=head)
    for ceiling in found.ceilings:
        yield from _operations(found, ceiling)


def _operations(found: pipeline.bench.Bench, ceiling: pipeline.bench.Ceiling) -> Iterator[str | Table]:
    operations = [each for each in found.operations if each.threads == ceiling.threads]
    tops = f"{2 * ceiling.multiply_adds_per_second / 1e12:.2f} TOPS (a multiply-add is two operations)"
    text = f"A text of {operations[0].tokens} tokens on each of {counted(ceiling.threads, 'thread')}"
    yield ""
    yield f"{text}, which reach at most {tops} and {ceiling.read_bytes_per_second / 1e9:.1f} GB/s:"
    head = ("part", "million multiply-adds", "executed", "ms", "of peak", "useful", "of bandwidth")
    cells = [
        (
            each.name, f"{each.multiply_adds / 1e6:,.0f}", f"{each.executed / 1e6:,.0f}", f"{each.seconds * 1e3:.2f}",
            _percent(each.share_of_peak), _percent(each.useful_share_of_peak), _percent(each.share_of_bandwidth),
        )
        for each in operations
    ]  # fmt: skip
    yield Table(head, cells, right=head[1:])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
