"""`cloister audit show`, `search`, `recall` and `replay`: what the log says of documents, and what comes again."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import pipeline
from jobs.cli.options import From, To, argument, check_one_of, option, refusing, span
from jobs.cli.printing import Answer, At, Table, counts_line
from jobs.config.load import did_you_mean
from jobs.config.workspace import no_such_job
from jobs.errors import ConfigError, ExitCode, Problem
from jobs.progress import counting
from jobs.visible import counted

_LABEL = 9  # characters
_FEWEST = 6  # digits of a sha256
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)%", re.ASCII)
_LISTED = 20
_SEEDS = 2**32


def show(
    at: At, document: Annotated[str, argument("DOC", "Its path below the input folder, or its sha256.")]
) -> Answer:
    """Tell one document's story.

    What was done to it, when, by which model and software, and where its row lies; who held it, read of it or had it
    deleted; and why it had no row, while it had none.
    """
    with refusing("DOC", LookupError):
        story = pipeline.story(at.site, document)
    # of a private job the log names no document but by its entry
    told = next((f"entry {entry.n}" for entry in story.entries if entry.private is not None), story.document)
    at.record(pipeline.records.ReadStory(document=told))
    return Answer(story.to_json(), _story_lines(story, document))


def _story_lines(story: pipeline.proof.Story, document: str) -> Iterator[str]:
    yield f"document {story.document}" if story.document else f"{document}, which got no row yet"
    for entry in story.entries:
        yield ""
        facts = list(_row(entry, story.placed) if isinstance(entry, pipeline.records.Document) else _other(entry))
        width = max(_LABEL, *(len(name) for name, _ in facts))
        yield from (f"  {name:<{width}} {told}" for name, told in (*_head(entry), *facts))


def _head(entry: pipeline.records.Record) -> Iterator[tuple[str, str]]:
    """Yield the number of the entry, its time and its author; a record that was handed over was made before."""
    yield f"entry {entry.n}", f"{entry.time}, {entry.user} on {entry.host}"
    if handed := entry.handed:
        yield "made", f"{handed.time}, {handed.user} on {handed.host}; handed over"
    if entry.job and entry.run:
        yield "job", f"{entry.job}, run {entry.run}"


def _other(entry: pipeline.records.Record) -> Iterator[tuple[str, str]]:
    """An entry that is no row: what its type means, and what it says."""
    told = pipeline.records.meaning(entry.type)
    yield "what", f"{entry.type}: {told}" if told else f"{entry.type}, which this version does not know"
    yield from pipeline.proof.members_in_words(entry.said)


def _row(entry: pipeline.records.Document, placed: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The entry of a row as lines, the question a reader has first on top."""
    kind = f", {entry.media_type}" if entry.media_type else ""
    yield "file", entry.path + (f" ({entry.size:,} bytes{kind})" if entry.size is not None else "")
    yield "state", str(entry.state) + (f": {entry.reason}" if entry.reason else "")
    if by := entry.review:
        why = f": {by.reason}" if by.reason else ""
        yield "decided", f"{by.action} by {by.by} at {by.at}, who saw entry {by.of}{why}; key {by.key}"
    gone = entry.replaces
    if gone is None and entry.supersedes is not None:
        gone = (entry.supersedes,)
    if gone:
        yield "replaces", f"the row of {', '.join(f'entry {number}' for number in gone)}"
    if entry.text_sha256:
        tokens = counted(entry.tokens or 0, "token")
        yield "text", f"sha256 {entry.text_sha256}, read by {entry.parser}, {tokens}"
    yield "model", f"{entry.model}, sha256 {entry.model_sha256}"
    software, engine = entry.software, entry.engine
    yield "made by", f"cloister {software['version']}, {software['python']}, arithmetic {entry.numerics}"
    yield "on", f"{engine['cpu']} ({engine['isa']}, {counted(int(engine['threads']), 'thread')})"
    yield "settings", f"job digest {entry.job_digest}"
    yield "result", f"sha256 {entry.result_sha256}"
    where = "" if entry.part in placed else " (not yet in place: the next run ends that)"
    yield "row", f"{entry.row} (counted from 0) of {entry.part}{where}"
    if entry.markdown:
        yield "markdown", entry.markdown.file
    yield from (("output", made.file) for made in entry.outputs or ())


def search(
    at: At,
    document: Annotated[str | None, option("--document", "The document's sha256, or its first digits.", "SHA")] = None,
    name: Annotated[str | None, option("--name", "A pattern of the path (*.pdf), or a part of it.", "NAME")] = None,
    job: Annotated[str | None, option("--job", "This job's.", "JOB")] = None,
    model: Annotated[str | None, option("--model", "Made by the model of this name or sha256.", "MODEL")] = None,
    outcome: Annotated[
        str | None, option("--outcome", "done, failed, …; or a class: timeout, encrypted, …", "STATE")
    ] = None,
    since: From = None,
    until: To = None,
    run: Annotated[str | None, option("--run", "Of this run.", "RUN")] = None,
) -> Answer:
    """Search the log for documents.

    All that is asked for must hold. Shows every row that ever was, also those that later ones replaced, and paths that
    got none (ignored, pending). audit show tells more of one document, audit prove proves an entry.
    """
    if outcome is not None:
        known = [*map(str, pipeline.State), *map(str, pipeline.Failure)]
        check_one_of("--outcome", outcome, known)
    if document is not None and len(document) < _FEWEST:
        raise ConfigError(Problem("--document", f"{document!r}", f"at least {_FEWEST} digits of a sha256"))
    first, end = span(since, until)
    query = pipeline.proof.Query(document, name, job, model, outcome, first, end, run)
    place, site = at.workspace, at.site
    searched = pipeline.search(site, query)
    found = searched.rows
    if not found:
        # A job or a run that nobody ever heard of is a slip.
        jobs, runs = pipeline.proof.jobs_and_runs(site)
        jobs = sorted({*jobs, *(path.stem for path in place.job_files())})
        if query.job is not None and query.job not in jobs:
            raise ConfigError(no_such_job(place, query.job, jobs))
        if query.run is not None and query.run not in runs:
            expected = (
                f"a run of the log, of which the last are {', '.join(runs[-3:])}" if runs else "a run; there is none"
            )
            raise ConfigError(Problem("--run", f"no run {query.run!r}", expected, did_you_mean(query.run, runs)))
    at.record(searched.to_record())
    return Answer(iter(found), _found_lines(found))


def _found_lines(found: Sequence[dict[str, Any]]) -> Iterator[str | Table]:
    if not found:
        yield "no entry of the log fits"
        return
    head = ("entry", "time", "job", "document", "state")
    cells = [(f"{row['entry']}", row["time"][:19] + "Z", row["job"], row["path"], _outcome(row)) for row in found]
    yield Table(head, cells, right=("entry",), whole=("time", "job"))


def _outcome(row: dict[str, str | None]) -> str:
    """The state, and of what has no answer, why; of what a person decided, who."""
    if by := row.get("decided_by"):
        return f"{row['state']}, {row['decision']} by {by}" + (f": {row['reason']}" if row["reason"] else "")
    told = {key: str(row[key]) for key in ("state", "failure", "reason") if row[key]}
    return " ".join(f"{said}:" if key == "failure" else said for key, said in told.items()) or "-"


def recall(
    at: At,
    model: Annotated[
        str, option("--model", "A model in models/, or a model's sha256, or at least six digits of it.", "MODEL")
    ],
) -> Answer:
    """List every result that a model touched.

    For when a model turns out to be bad: which rows it made, where they lie, and which of them no longer hold because
    another row took their place, or they were deleted.
    """
    site = at.site
    with refusing("--model", LookupError):
        found = pipeline.recall(site, _sha256(site, model))
    at.record(pipeline.records.ReadRecall(model_sha256=found.model_sha256))
    rows = [
        {**each.facts, "superseded_by": each.superseded_by, "deleted_by": each.deleted_by}
        for each in found.results.values()
    ]
    decided = {"admission": found.decision} if found.decision else {}
    return Answer({"model_sha256": found.model_sha256, **decided, "results": rows}, _recall_lines(found))


def _sha256(site: pipeline.Site, model: str) -> str:
    """The sha256 that is meant, or its first digits. LookupError."""
    if re.fullmatch(r"[0-9a-f]{6,64}", model):
        return model
    try:
        return pipeline.answer.model_sha256(pipeline.control.find_file(site.models, model)) or model
    except pipeline.ModelRefusedError as error:
        raise LookupError(str(error)) from error


def _recall_lines(found: pipeline.proof.Recall) -> Iterator[str | Table]:
    held = sum(each.holds for each in found.results.values())
    gone = sum(each.deleted_by is not None for each in found.results.values())
    deleted = f", {gone:,} of which are deleted" if gone else ""
    if found.decision:
        why = f": {found.decision.reason}" if found.decision.reason else ""
        yield f"{found.decision.in_words()}, as entry {found.decision.number} says{why}"
    yield f"model {found.model_sha256}: {counted(len(found.results), 'result')}, {held:,} of which hold{deleted}"
    head = ("entry", "job", "document", "state", "row", "replaced or deleted by")
    cells = [
        (
            str(each.facts["entry"]), each.facts["job"], each.facts["path"], each.facts["state"],
            f"{each.facts['row']} of {each.facts['part']}",
            ", ".join(f"entry {by}" for by in (each.superseded_by, each.deleted_by) if by is not None),
        )
        for each in found.results.values()
    ]  # fmt: skip
    yield Table(head, cells, right=("entry",), whole=("job", "state"))


def replay(
    at: At,
    document: Annotated[
        str | None, argument("DOC", "All rows of this document: its path below the input folder, or sha256.")
    ] = None,
    run: Annotated[str | None, option("--run", "All rows of this run.", "R")] = None,
    sample: Annotated[str | None, option("--sample", "So many of all rows, or of those of the run: 1%.", "P%")] = None,
    seed: Annotated[
        int | None, option("--seed", "Draw the sample that this seed drew before.", "N", min=0, max=_SEEDS - 1)
    ] = None,
) -> Answer:
    """Compute rows again and compare them bit for bit.

    The documents come from archive/ and failed/, the model is the file with the recorded sha256, the settings are those
    in the log: today's job files are not asked. Where a row is not the same, it is told which of input, settings,
    model, parser, software, text and result differ.

    Exit 4 if a row differs although everything that made it is the same; 1 if rows could not be compared, because
    something that made them is gone or is not the same any more, or if there was none to compare; 0 if all are
    identical. Rows that were deleted as the log says, or never computed, count for none of this, however they were
    chosen. What is compared is the log: `audit verify` holds the files in outbox/ against it.
    """
    if (document is None) == (run is None and sample is None):
        expected = "either DOC, or --run R, or --sample P%; the last two may stand together"
        raise ConfigError(Problem("audit replay", "nothing to replay" if document is None else "too much", expected))
    if seed is not None and sample is None:
        raise ConfigError(Problem("--seed", "no sample to draw", "--sample P% beside it"))
    drawn = seed if seed is not None or sample is None else secrets.randbelow(_SEEDS)
    choice = pipeline.Choice(document, run, 1.0 if sample is None else _share(sample), drawn or 0)
    site = at.site
    with refusing("--run" if document is None else "DOC", LookupError), counting("rows") as progress:
        done = pipeline.replay(site, choice, progress)
    at.record(done.to_record())
    counts = done.counts
    compared = counts["identical"] and not counts["changed"] and not counts["incomparable"]
    code = ExitCode.DONE if compared else ExitCode.DOCUMENTS_FAILED
    code = ExitCode.AUDIT_FAILED if counts["different"] else code
    return Answer({**vars(done), "counts": counts, "exit_code": code}, _replay_lines(done), code)


def _share(text: str) -> float:
    match = _PERCENT.fullmatch(text)
    share = float(match[1]) / 100 if match else 0.0
    if not 0 < share <= 1:
        raise ConfigError(Problem(f"--sample {text}", "no share of rows", "a percentage over 0% and up to 100%: 1%"))
    return share


def _replay_lines(done: pipeline.proof.Replay) -> Iterator[str]:
    choice, counts = done.choice, done.counts
    if choice.share < 1:
        yield f"A sample of {100 * choice.share:g}% of {counted(done.of, 'row')}, drawn with --seed {choice.seed}."
    if counts["different"]:
        yield f"OF {counted(sum(counts.values()), 'row').upper()}, {counts['different']:,} COULD NOT BE MADE AGAIN."
    yield counts_line(counts).replace("no documents", "no rows")
    for verdict in counts:
        # identical rows only where few are asked for
        rows = [row for row in done.rows if row.verdict == verdict and (row.reason or len(done.rows) <= _LISTED)]
        if rows:
            yield ""
            yield f"{verdict}: {rows[0].verdict.sentence}"
        for row in rows[:_LISTED]:
            yield f"  entry {row.entry}, {row.job}: {row.path}" + (f" ({row.reason})" if row.reason else "")
        if rows and (more := counts[verdict] - min(len(rows), _LISTED)) > 0:
            yield f"  and {more:,} more"
