"""`cloister bench`: how fast a model is on this machine, and what it makes of the machine."""

from __future__ import annotations

from typing import Annotated

import typer

import pipeline
from jobs.cli.model_inspect import model_file
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.errors import ConfigError, Problem
from jobs.progress import telling
from jobs.visible import counted


def bench(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A GGUF file, or the name of a model of the workspace.")
    ],
    tokens: Annotated[
        str | None,
        typer.Option(
            "--tokens", metavar="N,…", help="Tokens of a text; else 32, 128, 256 and 512.", show_default=False
        ),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads", metavar="N,…", help="Numbers of threads; else one, and as many as a run has.",
            show_default=False,
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", help="How long each measurement lasts.", min=0.01, max=3600)
    ] = 1.0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:  # fmt: skip
    """Measure a model on this machine.

    Texts and tokens a second by length and number of threads; the share of the CPU's integer multiply-adds and of the
    memory's bandwidth that each part of the model reaches; how long the start takes, and how much memory.
    """
    path = model_file(model, workspace)
    sizes, counts = _numbers("--tokens", tokens), _numbers("--threads", threads)
    try:
        with telling("bench") as progress:
            found = pipeline.bench_model(path, sizes, counts, seconds, progress)
    except ValueError as error:
        raise ConfigError(Problem("--tokens", str(tokens), str(error))) from error
    if as_json:
        print_json(found)
    else:
        _print(found)


def _numbers(option: str, text: str | None) -> list[int] | None:
    """`32,128` as numbers, each once, in order."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and 0 < int(word) <= 2**20 for word in words):
        raise ConfigError(Problem(option, repr(text), "numbers from 1, separated by commas"))
    return sorted({int(word) for word in words})


def _print(found: pipeline.Bench) -> None:
    say(f"{found.model['name']} ({found.model['architecture']}, {found.engine['types']}), arithmetic {found.numerics}")
    say(f"{found.engine['cpu']}, {found.cpus} CPUs, instruction set {found.engine['isa']}")
    for start in found.starts[:1]:
        say(
            f"first vector {start.seconds:.2f} s after the start, {start.load_seconds:.2f} s of it the loading; "
            f"{start.own_bytes / 2**20:,.0f} MiB of memory beyond mapped files"
        )
    cells = [
        (f"{each.threads}", f"{each.tokens}", f"{each.texts_per_second:,.1f}", f"{each.tokens_per_second:,.0f}")
        for each in found.speeds
    ]
    head = ("threads", "tokens", "texts/s", "tokens/s")
    say()
    print_table(head, cells, right=head)
    for ceiling in found.ceilings:
        _print_operations(found, ceiling)


def _print_operations(found: pipeline.Bench, ceiling: pipeline.Ceiling) -> None:
    operations = [each for each in found.operations if each.threads == ceiling.threads]
    say()
    say(
        f"A text of {operations[0].tokens} tokens on each of {counted(ceiling.threads, 'thread')}, which reach at most "
        f"{2 * ceiling.multiply_adds_per_second / 1e12:.2f} TOPS (a multiply-add is two operations) and "
        f"{ceiling.read_bytes_per_second / 1e9:.1f} GB/s:"
    )
    head = ("part", "million multiply-adds", "executed", "ms", "of peak", "useful", "of bandwidth")
    cells = [
        (
            each.name, f"{each.multiply_adds / 1e6:,.0f}", f"{each.executed / 1e6:,.0f}", f"{each.seconds * 1e3:.2f}",
            _percent(each.share_of_peak), _percent(each.useful_share_of_peak), _percent(each.share_of_bandwidth),
        )
        for each in operations
    ]  # fmt: skip
    print_table(head, cells, right=head[1:])


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f} %"
