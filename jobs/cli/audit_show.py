"""`cloister audit show`: one document's whole story, from the log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.plan import make_site
from jobs.config.workspace import open_workspace
from jobs.errors import ConfigError, Problem
from jobs.record import record
from jobs.visible import counted

_LABEL = 9  # characters


def show(
    document: Annotated[str, typer.Argument(metavar="DOC", help="Its path below the input folder, or its sha256.")],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell one document's story.

    What was done to it, when, by which model and software, and where its row lies; who held it, read of it or had it
    deleted; and why it had no row, while it had none.
    """
    site = make_site(open_workspace(workspace))
    try:
        story = pipeline.story(site, document)
    except LookupError as error:
        raise ConfigError(Problem("DOC", str(error.args[0]))) from error
    # of a private job the log names no document but by its entry
    told = next((f"entry {entry.n}" for entry in story.entries if entry.private is not None), story.document)
    record(site, pipeline.ReadStory(document=told))
    if as_json:
        print_json(story.to_json())
        return
    say(f"document {story.document}" if story.document else f"{document}, which got no row yet")
    for entry in story.entries:
        say()
        facts = list(_facts(entry, story.placed))
        width = max(_LABEL, *(len(name) for name, _ in facts))
        for name, told in (*_head(entry), *facts):
            say(f"  {name:<{width}} {told}")


def _head(entry: pipeline.Record) -> Iterator[tuple[str, str]]:
    """Yield the number of the entry, its time and its author; a record that was handed over was made before."""
    yield f"entry {entry.n}", f"{entry.time}, {entry.user} on {entry.host}"
    if handed := entry.handed:
        yield "made", f"{handed.time}, {handed.user} on {handed.host}; handed over"
    if entry.job and entry.run:
        yield "job", f"{entry.job}, run {entry.run}"


def _facts(entry: pipeline.Record, placed: frozenset[str]) -> Iterator[tuple[str, str]]:
    if isinstance(entry, pipeline.Document):
        yield from _row(entry, entry.part in placed)
    else:
        yield from _other(entry)


def _other(entry: pipeline.Record) -> Iterator[tuple[str, str]]:
    """An entry that is no row: what its type means, and what it says."""
    told = pipeline.says(entry.type)
    yield "what", f"{entry.type}: {told}" if told else f"{entry.type}, which this version does not know"
    yield from pipeline.members_in_words(entry.said)


def _decision(review: pipeline.Reviewed) -> str:
    """Who decided the row, when, on which one, and why."""
    why = f": {review.reason}" if review.reason else ""
    return f"{review.action} by {review.by} at {review.at}, who saw entry {review.of}{why}; key {review.key}"


def _row(entry: pipeline.Document, placed: bool) -> Iterator[tuple[str, str]]:
    """The entry of a row as lines, the question a reader has first on top."""
    kind = f", {entry.media_type}" if entry.media_type else ""
    yield "file", entry.path + (f" ({entry.size:,} bytes{kind})" if entry.size is not None else "")
    yield "state", str(entry.state) + (f": {entry.reason}" if entry.reason else "")
    if entry.review:
        yield "decided", _decision(entry.review)
    gone = entry.replaces
    if gone is None and entry.supersedes is not None:
        gone = (entry.supersedes,)
    if gone:
        yield "replaces", f"the row of {', '.join(f'entry {number}' for number in gone)}"
    if entry.text_sha256:
        yield (
            "text",
            f"sha256 {entry.text_sha256}, read by {entry.parser}, {counted(entry.tokens or 0, 'token')}",
        )
    yield "model", f"{entry.model}, sha256 {entry.model_sha256}"
    software, engine = entry.software, entry.engine
    yield "made by", f"cloister {software['version']}, {software['python']}, arithmetic {entry.numerics}"
    yield "on", f"{engine['cpu']} ({engine['isa']}, {counted(int(engine['threads']), 'thread')})"
    yield "settings", f"job digest {entry.job_digest}"
    yield "result", f"sha256 {entry.result_sha256}"
    where = "" if placed else " (not yet in place: the next run ends that)"
    yield "row", f"{entry.row} (counted from 0) of {entry.part}{where}"
    if entry.markdown:
        yield "markdown", entry.markdown.file
    for made in entry.outputs or ():
        yield "output", made.file
