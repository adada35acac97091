"""`cloister audit show`: one document's whole story, from the log."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import counted, print_json, say
from jobs.errors import ConfigError, Problem
from jobs.workspace import open_workspace


def show(
    document: Annotated[str, typer.Argument(metavar="DOC", help="Its path below the input folder, or its sha256.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell one document's story.

    What was done to it, when, by which model and software, and where its row lies.
    """
    import pipeline
    from jobs.plan import make_site

    try:
        story = pipeline.story(make_site(open_workspace(workspace)), document)
    except LookupError as error:
        raise ConfigError(Problem(document, str(error.args[0]))) from error
    if as_json:
        print_json(story)
        return
    say(f"document {story.document}")
    for entry in story.entries:
        say()
        for name, told in _facts(entry, entry["part"] in story.placed):
            say(f"  {name:<9} {told}")


def _facts(entry: Mapping[str, Any], placed: bool) -> Iterator[tuple[str, str]]:
    """One entry as lines, the question a reader has first on top."""
    yield f"entry {entry['n']}", f"{entry['time']}, {entry['user']} on {entry['host']}"
    yield "job", f"{entry['job']}, run {entry['run']}"
    kind = f", {entry['media_type']}" if entry["media_type"] else ""
    yield "file", f"{entry['path']} ({entry['size']:,} bytes{kind})"
    yield "state", str(entry["state"]) + (f": {entry['reason']}" if entry["reason"] else "")
    if entry["supersedes"] is not None:
        yield "replaces", f"the row of entry {entry['supersedes']}"
    if entry["text_sha256"]:
        yield (
            "text",
            f"sha256 {entry['text_sha256']}, read by {entry['parser']}, {counted(entry['tokens'] or 0, 'token')}",
        )
    yield "model", f"{entry['model']}, sha256 {entry['model_sha256']}"
    software, engine = entry["software"], entry["engine"]
    yield "made by", f"cloister {software['version']}, {software['python']}, arithmetic {entry['numerics']}"
    yield "on", f"{engine['cpu']} ({engine['isa']}, {counted(int(engine['threads']), 'thread')})"
    yield "settings", f"job digest {entry['job_digest']}"
    yield "result", f"sha256 {entry['result_sha256']}"
    where = "" if placed else " (not yet in place: the next run ends that)"
    yield "row", f"{entry['row']} (counted from 0) of {entry['part']}{where}"
    if entry["markdown"]:
        yield "markdown", str(entry["markdown"]["file"])
