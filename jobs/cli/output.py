"""Commands print on stdout through this file: text for a person, or one JSON document."""

import contextlib
import dataclasses
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jobs.errors import OutputError
from jobs.visible import CONTROLS, one_line, visible

if TYPE_CHECKING:
    from rich.text import Text

UNWRAPPED = 160  # columns where no terminal says how many there are
WHOLE = 24  # characters of a name that is not folded
NARROW = 8  # columns that a cell is folded to at least
LISTED = 10  # what a list names before "and 5 more"


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


def say(text: str = "") -> None:
    """A line for a person."""
    sys.stdout.write(visible(text) + "\n")


def hand_over() -> None:
    """Give what was said to whoever waits for it, in a command that goes on: a pipe or a file has it at its end."""
    sys.stdout.flush()


def write_exact(text: str) -> None:
    """Text whose bytes count, such as a signed note: in UTF-8, whatever the terminal's encoding is."""
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(text)


def say_list(lines: Sequence[str], total: int, most: int = LISTED) -> None:
    """The first `most` of `lines`, each below a heading that was said before; `total` is how many there are."""
    for line in lines[:most]:
        say(f"    {one_line(line)}")
    more = total - min(len(lines), most)
    if more > 0 and lines:
        say(f"    and {more:,} more")


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


def print_table(
    head: Sequence[str], rows: Sequence[Sequence["str | Text"]], right: Sequence[str] = (), whole: Sequence[str] = ()
) -> None:
    """A table whose long cells go on in further lines; nothing is cut. Where it does not fit, each row is a line.

    `right`: columns of numbers. `whole`: columns of names, which are not folded if they are short.
    """
    console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else UNWRAPPED)
    widths = [max(len(str(cell)) for cell in cells) for cells in zip(head, *rows, strict=True)]
    kept = [name in right or (name in whole and width <= WHOLE) for name, width in zip(head, widths, strict=True)]
    if sum(width if keep else NARROW for width, keep in zip(widths, kept, strict=True)) + 2 * len(head) > console.width:
        for first, *others in rows:
            say(f"{first}: " + ", ".join(f"{name} {cell}" for name, cell in zip(head[1:], others, strict=True)))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name, keep in zip(head, kept, strict=True):
        table.add_column(name, justify="right" if name in right else "left", no_wrap=keep, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) if isinstance(cell, str) else cell for cell in row))
    with console.capture() as printed:  # rich ends the process itself where a pipe is closed
        console.print(table)
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
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"no JSON for {type(value).__name__}")
