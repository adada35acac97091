"""`cloister model quantize`: a model file in fewer bits."""

import re
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.model_import import say_kept
from jobs.cli.model_inspect import model_file, print_facts
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.job import MODEL_NAME, MODEL_NAME_MEANS
from jobs.config.load import shown
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.progress import telling
from jobs.record import record
from jobs.visible import counted


class Mix(StrEnum):
    """How the weights are stored; _S and _M: some matrices get more bits, few or more of them."""

    F16 = "f16"
    BF16 = "bf16"
    Q8_0 = "q8_0"
    Q6_K = "q6_k"
    Q5_K_M = "q5_k_m"
    Q5_K_S = "q5_k_s"
    Q5_1 = "q5_1"
    Q5_0 = "q5_0"
    Q4_K_M = "q4_k_m"
    Q4_K_S = "q4_k_s"
    IQ4_NL = "iq4_nl"
    IQ4_XS = "iq4_xs"
    Q4_1 = "q4_1"
    Q4_0 = "q4_0"
    Q3_K_M = "q3_k_m"
    Q2_K = "q2_k"


def quantize(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A GGUF file, or the name of a model of the workspace.")
    ],
    mix: Annotated[Mix, typer.Option("--type", help="How weights are stored.", case_sensitive=False)],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="The file becomes models/NAME.gguf.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="The file, instead of --name.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a model's weights in fewer bits.

    The source holds its weights in F32, F16, BF16 or Q8_0. Matrices get the type; as in llama.cpp some get more bits,
    and rows that are no whole number of blocks fall back to a type with smaller blocks. The same file and type give the
    same bytes.
    """
    place = _place(name, output, workspace)
    if place.exists() and not force:
        raise ConfigError(Problem(shown(place), "is there already", "a new file", "--force replaces it"))
    before = pipeline.model_sha256(place)
    with telling("quantize") as progress:
        bytes_of = model_file(source, workspace)
        facts = pipeline.quantize_model(bytes_of, place, mix.value, progress, keep=name is not None)
    for news in pipeline.model_news(name, before, facts["sha256"], "quantize") if name is not None else ():
        record(make_site(open_workspace(workspace)), news)
    if as_json:
        print_json({"path": place, **facts})
        return
    say(f"Made {shown(place)}")
    say_kept(place, before if name is not None else None, facts["sha256"])
    print_facts(facts)
    _say_fallbacks(facts)
    if name is not None:
        say("A job pins it with:")
        say(f'  model: {{name: {name}, sha256: "{facts["sha256"]}"}}')


def _place(name: str | None, output: Path | None, workspace: Path | None) -> Path:
    if name is None and output is not None:
        return output
    if name is None or output is not None:
        raise ConfigError(
            Problem("cloister model quantize", "where the file goes is not said once", "--name or --output")
        )
    if not re.fullmatch(MODEL_NAME, name):
        raise ConfigError(Problem("--name", f"{name!r}", MODEL_NAME_MEANS))
    return open_workspace(workspace).root / "models" / f"{name}.gguf"


def _say_fallbacks(facts: dict[str, Any]) -> None:
    """How many tensors got another type than the mix has for them, and which; --json names each."""
    kinds = Counter((each["columns"], each["wanted"], each["type"]) for each in facts["fallbacks"])
    if kinds:
        say(f"{counted(kinds.total(), 'tensor')} of {facts['tensors']:,} fell back, as blocks do not fit their rows:")
    for (columns, wanted, kind), count in sorted(kinds.items()):
        say(f"  {wanted} -> {kind:<5} {counted(count, 'tensor')} with {columns:,} columns")
