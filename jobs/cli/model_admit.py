"""`cloister model admit`: a person lets a model or head be used."""

from pathlib import Path
from typing import Annotated

import typer

import pipeline
from jobs.cli.learn import refusal_of
from jobs.cli.options import ByOption, JsonOption, WaitOption, WorkspaceOption, check_text, person
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.progress import saying
from jobs.visible import counted


def admit(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A model or head in models/; NAME.head where both have the name.")
    ],
    licence: Annotated[
        str | None, typer.Option("--licence", metavar="TEXT", help="Its licence, where the file does not state one.")
    ] = None,
    origin: Annotated[
        str | None, typer.Option("--origin", metavar="TEXT", help="Where it comes from, if the file does not say.")
    ] = None,
    golden: Annotated[
        Path | None,
        typer.Option(
            "--golden",
            metavar="FILE",
            help="Texts that it is asked: a line each, or a CSV or JSONL file with `text`; else a few sentences.",
        ),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Admit it although it was revoked.")] = False,
    by: ByOption = None,
    wait: WaitOption = 0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Admit a model or head: the bytes that its file has now, whatever it will be called.

    The file is read strictly, its licence and origin are noted, and it is asked golden texts, whose answers `model
    verify` asks for again. The admission is an entry of the log with the person's name. Where site.yaml says `models:
    {require_admission: true}`, jobs run with nothing else. Exit 2 for a licence or origin that nobody states.
    """
    for option, text in (("--licence", licence), ("--origin", origin)):
        if text is not None:
            check_text(option, text, "a text; it stands in the log")
    site, note = make_site(open_workspace(workspace)), pipeline.Note(person(by), licence, origin, again)
    admitted = _admit(site, name, note, golden, wait)
    if as_json:
        print_json(admitted)
    else:
        _print(admitted)


def _admit(
    site: "pipeline.Site", name: str, note: "pipeline.Note", golden: Path | None, wait: float
) -> "pipeline.Admitted":
    """Admit the file. Raises ConfigError for golden texts that cannot be used, and for what nobody states."""
    try:
        texts = None if golden is None else [one.text or "" for one in pipeline.read_lines(golden)]
        with saying() as progress:
            return pipeline.admit(site, name, note, texts, progress or (lambda fact: None), wait=wait)
    except pipeline.ExamplesRefusedError as error:
        raise refusal_of(error, golden or Path()) from None
    except pipeline.NotStatedError as error:
        remedy = f"cloister model admit {name} --{error.what} TEXT"
        raise ConfigError(Problem(f"--{error.what}", str(error), f"the {error.what} of {name}", remedy)) from None


def _print(admitted: "pipeline.Admitted") -> None:
    say(f"admitted models/{admitted.file} by entry {admitted.number}")
    say(f"  sha256   {admitted.sha256}")
    say(f"  by       {admitted.by}")
    say(f"  licence  {admitted.licence}")
    say(f"  origin   {admitted.origin}")
    say(f"  answers  {_answers(admitted)}")


def _answers(admitted: "pipeline.Admitted") -> str:
    if admitted.answers_sha256 is None:
        return f"none were asked for: {admitted.unasked}"
    return f"to {counted(admitted.texts, 'text')}: sha256 {admitted.answers_sha256}"
