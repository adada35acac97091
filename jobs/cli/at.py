"""Where a command works, and how a function becomes one.

A function with a parameter `at: At` gets the option --workspace, and opens the workspace by it; each gets --json. What
it returns is printed.
"""

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from jobs.cli.printing import Answer, EndedError, Table, show

if TYPE_CHECKING:
    import pipeline
    from jobs.workspace import Workspace

WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="DIR",
        help="The workspace; else CLOISTER_WORKSPACE, else the nearest folder upward with a site.yaml.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of text.")]


@dataclass(frozen=True)
class Out:
    """How a command prints."""

    as_json: bool = False

    def tell(self, data: object, *lines: str | Table) -> None:
        """Print what a command says that goes on, and hand it over: a pipe or a file has it at its end."""
        show(Answer(data, lines), self.as_json)
        sys.stdout.flush()


@dataclass(frozen=True)
class At(Out):
    """The workspace of a command, which is opened when it is first asked for."""

    named: Path | None = None

    @cached_property
    def workspace(self) -> "Workspace":
        """The workspace. ConfigError."""
        from jobs.workspace import open_workspace

        return open_workspace(self.named)

    @cached_property
    def site(self) -> "pipeline.Site":
        """The workspace as the pipeline is told of it."""
        from jobs.plan import make_site

        return make_site(self.workspace)

    def record(self, *facts: "pipeline.Record") -> None:
        """Commit records to the log, or hand them to the one who holds it."""
        from jobs.record import record

        for each in facts:
            record(self.site, each)


def bound(function: Callable[..., Answer | None], *, is_group: bool = False) -> Callable[..., None]:
    """The command as typer takes it, with the options that all have. One that is a group works where no command of it
    is named."""
    own = list(inspect.signature(function, eval_str=True).parameters.values())
    place = next(((each.name, each.annotation) for each in own if each.annotation in (At, Out)), None)
    options: dict[str, Any] = {"workspace": WorkspaceOption} if place and place[1] is At else {}
    options |= {"as_json": JsonOption}

    def call(context: typer.Context, **given: Any) -> None:
        if is_group and context.invoked_subcommand is not None:
            return
        as_json, named = given.pop("as_json"), given.pop("workspace", None)
        if place:
            given[place[0]] = At(as_json, named) if place[1] is At else Out(as_json)
        try:
            answer = function(**given) or Answer(None)
        except EndedError as end:
            answer = end.answer
        show(answer, as_json)
        raise typer.Exit(int(answer.code))

    defaults = {"workspace": None, "as_json": False}
    parameters: list[tuple[str, Any, Any]] = [("context", typer.Context, inspect.Parameter.empty)]
    parameters += [(each.name, each.annotation, each.default) for each in own if not place or each.name != place[0]]
    parameters += [(name, option, defaults[name]) for name, option in options.items()]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)
         for name, hint, default in parameters]
    )  # fmt: skip
    call.__annotations__ = {}
    return call
