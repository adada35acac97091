"""`cloister review correct`: a person says what is right instead of the answer of a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from jobs.cli.decided import AsOption, ReasonOption, RowArgument, decide
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.errors import ConfigError, Problem

_PLACE = re.compile(r"([0-9]{1,12}):([0-9]{1,12})", re.ASCII)


def correct(
    row: RowArgument,
    by: AsOption,
    reason: ReasonOption = None,
    label: Annotated[
        str | None, typer.Option("--label", metavar="LABEL", help="The right label.", show_default=False)
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field", metavar="NAME=VALUE", help="The right value of a field; of a question NAME is a JSON pointer."
        ),
    ] = None,
    place: Annotated[
        list[str] | None,
        typer.Option("--at", metavar="NAME=START:END", help="Where that value stands, in characters of the text."),
    ] = None,
    absent: Annotated[
        list[str] | None, typer.Option("--absent", metavar="NAME", help="A field that has no value in the document.")
    ] = None,
    summary: Annotated[
        str | None, typer.Option("--summary", metavar="TEXT", help="The right summary.", show_default=False)
    ] = None,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Correct the answer of a row: another label, values of fields, or a summary.

    A row with the right answer takes its place, in state done, with who corrected it; the log has an entry of it. A
    label is one that the job had when it made the row; a value is read as the job reads values. A field that may have
    several values is given once for each. While a run holds the log, the decision is signed and waits for it. Exit 2
    where the row is no longer the one that holds, or cannot have this answer.
    """
    answer: dict[str, Any] = {}
    if label is not None:
        answer["label"] = label
    if summary is not None:
        answer["summary"] = summary
    if field or absent:
        answer["fields"] = _fields(field or (), place or (), absent or ())
    elif place:
        raise ConfigError(Problem("--at", "a place without a value", "a --field of the same name"))
    if len(answer) != 1:
        found = "nothing that is right" if not answer else " and ".join(f"--{name}" for name in answer)
        raise ConfigError(Problem("correct", found, "--label, --summary, or --field and --absent"))
    decide(row, "corrected", by, reason, answer, workspace, as_json)


def _fields(values: Sequence[str], places: Sequence[str], absent: Sequence[str]) -> dict[str, Any]:
    """The values by their names: one, several in a list, or None for one that is absent."""
    said: list[tuple[str, dict[str, Any]]] = [
        (name, {"value": text}) for name, text in _pairs("--field", "NAME=VALUE", values)
    ]
    where = list(_pairs("--at", "NAME=START:END", places))
    for name, text in where:
        found = _PLACE.fullmatch(text)
        given = next((value for its, value in said if its == name and "start" not in value), None)
        if found is None or given is None:
            what = "a place without a value" if found else f"{text!r}"
            raise ConfigError(Problem("--at", what, "NAME=START:END, of a field that --field gives"))
        given |= {"start": int(found[1]), "end": int(found[2])}
    both = sorted({name for name, _ in said} & set(absent))
    if both:
        raise ConfigError(Problem("--absent", f"{both[0]} has a value, too", "one of the two"))
    fields: dict[str, Any] = dict.fromkeys(absent)
    for name, value in said:
        fields[name] = [*fields[name], value] if name in fields else [value]
    return {name: value[0] if value and len(value) == 1 else value for name, value in fields.items()}


def _pairs(option: str, form: str, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    for each in given:
        name, equals, text = each.partition("=")
        if not name or not equals:
            raise ConfigError(Problem(option, f"{each!r}", form))
        yield name, text
