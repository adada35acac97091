"""What a command found, in words and as JSON, the one printer of both, and how a function becomes a command.

A function with a parameter `at: At` gets the option --workspace, and opens the workspace by it; each gets --json. What
it returns is printed.
"""

import contextlib
import dataclasses
import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, cast

import typer

from jobs.errors import ExitCode, OutputError
from jobs.visible import CONTROLS, counted, one_line, visible

if TYPE_CHECKING:
    from rich.text import Text

    import pipeline
    from jobs.config.load import LoadedJob
    from jobs.config.workspace import Workspace

UNWRAPPED = 160  # columns where no terminal says how many there are
WHOLE = 24  # characters of a name that is not folded
NARROW = 8  # columns that a cell is folded to at least
_FEW = 3  # files that a sentence names
LISTED = 10  # what a list names before "and 5 more"


class Exact(str):
    """Text whose bytes count, such as a signed note: in UTF-8, whatever the terminal's encoding is."""


class Aside(str):
    """A line for a person on stderr."""


@dataclass(frozen=True)
class Table:
    """A table whose long cells go on in further lines; nothing is cut. Where it does not fit, each row is a line.

    `right`: columns of numbers. `whole`: columns of names, which are not folded if they are short.
    """

    head: Sequence[str]
    rows: Sequence[Sequence["str | Text"]]
    right: Sequence[str] = ()
    whole: Sequence[str] = ()


@dataclass(frozen=True)
class Answer:
    """What a command found: `data` for programs, of which an iterator is a JSON array and None is nothing; `lines` for
    people, which are made when they are printed; and the exit code."""

    data: object
    lines: "Iterable[str | Table]" = ()
    code: ExitCode = ExitCode.DONE


class EndedError(Exception):
    """The command ends here, with this answer."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.answer = answer


def refused(error: object, line: str, code: ExitCode) -> Answer:
    """The answer that refuses: `error` for programs, `line` for people."""
    return Answer({"ok": False, "error": str(error), "exit_code": code}, [line], code)


def show(answer: Answer, as_json: bool) -> None:
    """Print an answer."""
    if not as_json:
        for line in answer.lines:
            if isinstance(line, Table):
                print_table(line)
            elif isinstance(line, Exact):
                sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
                sys.stdout.write(line)
            else:
                (sys.stderr if isinstance(line, Aside) else sys.stdout).write(visible(line) + "\n")
    elif isinstance(answer.data, Iterator):
        print_json_array(answer.data)
    elif answer.data is not None:
        print_json(answer.data)


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
        from jobs.config.workspace import open_workspace

        return open_workspace(self.named)

    @cached_property
    def site(self) -> "pipeline.Site":
        """The workspace as the pipeline is told of it."""
        from jobs.config.plan import make_site

        return make_site(self.workspace)

    def record(self, *facts: "pipeline.records.Record") -> None:
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


def next_start_of(job: "LoadedJob") -> datetime | None:
    """The next start by the job's cron line that is not on a skipped date; None for a job without one."""
    schedule = job.config.schedule
    return None if schedule is None else schedule.next_start(datetime.now(UTC))


def starts(job: "LoadedJob", *, here: bool = False) -> str:
    """When `cloister serve` starts the job; the next start in the zone of its schedule, or in that of this machine."""
    schedule, start = job.config.schedule, next_start_of(job)
    if job.config.after:
        return f"when a run of {job.config.after} has finished"
    if schedule is None:
        return "when a complete file lies in its folder"
    shown = start.astimezone() if start and here else start
    return f"{schedule.cron} ({schedule.timezone}), next {f'{shown:%a %Y-%m-%d %H:%M %Z}' if shown else 'never'}"


def first_few(files: Sequence[tuple[str, str]], total: int, names: Mapping[str, int] | None = None) -> str:
    """`9 files: 4 Thumbs.db; a.tmp (why), b.tmp (why), c.tmp (why) and 6 more`, of the first paths with their
    reasons; `names` counts those whose name no person gives."""
    told = ", ".join(f"{one_line(path)} ({one_line(reason)})" for path, reason in files[:_FEW])
    more = f" and {total - _FEW:,} more" if total > _FEW else ""
    kinds = f"{of_names(names)}; " if names else ""
    return f"{counted(total, 'file')}: {kinds}{told}{more}"


def of_names(names: Mapping[str, int]) -> str:
    """`3 Thumbs.db, 1 #recycle/`: files by the patterns of names that no person gives."""
    return ", ".join(f"{count:,} {one_line(pattern).strip()}" for pattern, count in names.items())


def pace_of(documents: int, seconds: float) -> str:
    """Documents a second, or an hour where they are few, with at least two digits that mean something."""
    if documents >= seconds:
        return f"{documents / seconds:,.1f} a second"
    hourly = 3600 * documents / seconds
    return f"{hourly:,.0f} an hour" if hourly >= 10 else f"{hourly:.2g} an hour"


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60:,} h {minutes % 60} min"


def size_of(size: int) -> str:
    """Bytes in the unit in which they are few: `12 bytes`, `3.4 MiB`."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} byte{'' if size == 1 else 's'}"


class GuardedOutput:
    """stdout, whose failures are OutputError whoever writes: a command, typer's help or rich.

    As OSError they could not be told from those of the workspace, and rich and typer would end the process themselves.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write to the stream. Raises OutputError."""
        try:
            return self._stream.write(text)
        except OSError as error:
            raise OutputError(error) from error

    def flush(self) -> None:
        """Flush the stream. Raises OutputError."""
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputError(error) from error


@contextlib.contextmanager
def guarded_output() -> Iterator[None]:
    """stdout guarded, and written to its end."""
    stream = sys.stdout
    sys.stdout = cast(TextIO, GuardedOutput(stream))
    try:
        yield
        sys.stdout.flush()
    except OutputError:  # whatever is left goes nowhere, so that the end of the process does not fail at it
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise
    finally:
        sys.stdout = stream


def listed(lines: Sequence[str], total: int, most: int = LISTED) -> Iterator[str]:
    """The first `most` of `lines`, each below a heading; `total` is how many there are."""
    yield from (f"    {one_line(line)}" for line in lines[:most])
    more = total - min(len(lines), most)
    if more > 0 and lines:
        yield f"    and {more:,} more"


def print_json(document: object) -> None:
    """One JSON document."""
    sys.stdout.write(_json(document, indent=2) + "\n")


def print_json_array(rows: Iterable[object]) -> None:
    """One JSON array, row by row, so that its length costs no memory."""
    separator = "[\n"
    for row in rows:
        sys.stdout.write(separator + _json(row))
        separator = ",\n"
    sys.stdout.write("[]\n" if separator == "[\n" else "\n]\n")


def print_table(table: Table) -> None:
    """Print a table as wide as the terminal."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    head, rows, right = table.head, table.rows, table.right
    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else UNWRAPPED)
    widths = [max(len(str(cell)) for cell in cells) for cells in zip(head, *rows, strict=True)]
    kept = [name in right or (name in table.whole and width <= WHOLE) for name, width in zip(head, widths, strict=True)]
    if sum(width if keep else NARROW for width, keep in zip(widths, kept, strict=True)) + 2 * len(head) > console.width:
        for first, *others in rows:
            told = ", ".join(f"{name} {cell}" for name, cell in zip(head[1:], others, strict=True))
            sys.stdout.write(visible(f"{first}: {told}") + "\n")
        return
    drawn = Drawn(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, keep in zip(head, kept, strict=True):
        drawn.add_column(name, justify="right" if name in right else "left", no_wrap=keep, overflow="fold")
    for row in rows:
        drawn.add_row(*(Text(visible(cell)) if isinstance(cell, str) else cell for cell in row))
    with console.capture() as printed:  # rich ends the process itself where a pipe is closed
        console.print(drawn)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in printed.get().splitlines() if line.strip()))


def shortened(text: str, characters: int) -> str:
    """`text` in one line, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def counts_line(counts: Mapping[str, int]) -> str:
    """The states that occur: `30 done, 3 failed`; `no documents` if there are none."""
    return ", ".join(f"{count:,} {state}" for state, count in counts.items() if count) or "no documents"


def _json(value: object, indent: int | None = None) -> str:
    """JSON whose characters stdout has, and in which none acts on a terminal."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=not unicode, indent=indent, default=_plain)
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: object) -> Any:
    match value:
        case datetime() | date():
            return value.isoformat()
        case Path():
            return str(value)
        case bytes():
            return value.hex()
        case set() | frozenset():
            return sorted(value)
        case Mapping():
            return dict(value)
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"no JSON for {type(value).__name__}")
