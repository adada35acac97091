"""`cloister review list`, `show` and `sample`: rows that people look at; and options that choose rows of the queue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pipeline
from jobs.cli.options import (
    AllVersions,
    By,
    Folder,
    Labels,
    Newest,
    Night,
    States,
    Text,
    argument,
    check_job,
    check_one_of,
    check_text,
    job_argument,
    newest_of,
    option,
    person,
    refusing,
)
from jobs.cli.printing import Answer, At, Table, shortened
from jobs.cli.results import answer_of, known_states
from jobs.errors import ConfigError, Problem
from jobs.visible import counted, one_line

Failures = Annotated[
    list[str] | None, option("--failure", "Only rows that failed in this way; also several times.", "CLASS")
]
Decided = Annotated[
    str | None, option("--decided", "Only rows that a person accepted, corrected or rejected; or any, none.", "WHAT")
]
Current = Annotated[
    bool, option("--current-settings", "Only rows made by the settings and model of the job's newest row.")
]
Sort = Annotated[str, option("--sort", f"One of {', '.join(pipeline.index.SORTS)}.", "ORDER")]
_DECIDED = ["accepted", "corrected", "rejected", "any", "none"]
_EVIDENCE = 10  # places that are told
_CHARACTERS = 300


def check_filter(at: At, asked: pipeline.index.Filter, sort: str) -> None:
    """ConfigError for what is asked for and is not there."""
    for job in asked.jobs:
        check_job(at.workspace, job)
    for state in asked.states:
        check_one_of("--state", state, known_states())
    for failure in asked.failures:
        check_one_of("--failure", failure, [*map(str, pipeline.Failure)])
    check_one_of("--sort", sort, [*pipeline.index.SORTS])
    if asked.review is not None:
        check_one_of("--decided", asked.review, _DECIDED)


def list_(
    at: At,
    job: Annotated[str | None, job_argument("Only rows of this job.")] = None,
    state: States = None,
    label: Labels = None,
    failure: Failures = None,
    folder: Folder = None,
    night: Night = None,
    text: Text = None,
    decided: Decided = None,
    current_settings: Current = False,
    newest: Newest = False,
    all_versions: AllVersions = False,
    sort: Sort = "score",
    limit: Annotated[int, option("--limit", "At most N rows.", "N", min=1, max=10_000)] = 20,
    after: Annotated[str | None, option("--after", "Go on behind the place that a list told last.", "PLACE")] = None,
) -> Answer:
    """List rows that people should look at: in review first, then abstained, then the lowest scores.

    What a person has decided comes behind them, and what failed or came again last. --sort uncertain has the answers
    first of which the model was the least sure, whose labels teach it most. Each row is named by the number of its
    entry, which accept, correct, reject and show take. A row whose path has a newer file says so; it is left out where
    the job's last run said `versions: newest`, or where --newest asks for that. The list comes from an index in
    state/, which may be deleted at any time.
    """
    _, only = at.workspace, newest_of(newest, all_versions)
    asked = pipeline.index.Filter(
        jobs=(job,) if job else (), states=tuple(state or ()), labels=tuple(label or ()),
        failures=tuple(failure or ()), folder=folder, night=night, text=text, review=decided,
        settings="current" if current_settings else None, versions={None: "rule", True: "newest", False: None}[only],
    )  # fmt: skip
    check_filter(at, asked, sort)
    with pipeline.index.open_index(at.site) as queue:
        queue.refresh()
        with refusing("--after", ValueError, expected="the place that a list in the same order told"):
            page = queue.page(asked, sort, after, limit)
    at.record(pipeline.records.ReadResults(of_job=job, failed=asked.states == ("failed",), limit=limit))
    return Answer({"rows": page.items, "total": page.total, "after": page.next}, _page_lines(page, job))


def _page_lines(page: pipeline.index.Page, job: str | None) -> Iterator[str | Table]:
    if not page.items:
        yield "no row fits" if page.total == 0 else "there are no more rows"
        return
    head, cells = ["row", "document", "state", "score", "answer"], [_cells(item) for item in page.items]
    if job is None:
        head.insert(1, "job")
        for item, row in zip(page.items, cells, strict=True):
            row.insert(1, item.job)
    yield Table(head, cells, right=("row", "score"), whole=("job", "state"))
    more = f" of {page.total:,}" if page.total > len(page.items) else ""
    yield f"{counted(len(page.items), 'row')}{more}" + (f"; go on with --after '{page.next}'" if page.next else "")
    yield "look at one with: cloister review show ROW"


def _cells(item: pipeline.index.Item) -> list[str]:
    state = f"{item.review_action} by {item.review_by}" if item.review_action else item.state
    score = "" if item.score is None else f"{item.score:.2f}"
    newer = f"\na newer file has this path: entry {item.newer_file:,}" if item.newer_file is not None else ""
    return [str(item.entry), f"{item.path}{newer}", state, score, item.answer]


def show(
    at: At,
    row: Annotated[int, argument("ROW", "The row, by the number of its entry, as `review list` tells it.", min=0)],
) -> Answer:
    """Show one row: answer, evidence, notes, where its document lies, and its other rows.

    The row comes from its part and is held against the entry of the log that proves it.
    """
    site = at.site
    with pipeline.index.open_index(site) as queue:
        queue.refresh()
        with refusing(f"ROW {row}", LookupError, expected="a row of `cloister review list`"):
            whole, item = pipeline.review.row_of(site, row), queue.item(row)
        others = [each for each in queue.same_document(row) if each.entry != row]
    private = pipeline.review.entry_of(site, row).private is not None
    at.record(pipeline.records.ReadStory(document=f"entry {row}" if private else item.document))
    original = pipeline.outbox.original_of(site.root, whole.job, whole.path, whole.document, whole.state)
    told = {"row": whole, "item": item, "original": original, "other_rows": others}
    shown = None if original is None else str(original.relative_to(site.root))
    also = (f"also       row {each.entry}, {each.job}: {_state(each)}, {one_line(each.answer)}" for each in others)
    return Answer(told, [*_row_lines(whole, item, shown), *also])


def _row_lines(row: pipeline.document.Row, item: pipeline.index.Item, original: str | None) -> Iterator[str]:
    yield f"row        {item.entry} of {item.job}, {item.time}"
    yield f"document   {one_line(item.path)}"
    yield f"state      {_state(item)}{': ' + one_line(row.reason) if row.reason else ''}"
    for at, line in enumerate(answer_of(row).plain.split("\n")):
        yield f"{'answer' if at == 0 else '':<11}{line}"
    once = {(place.page, place.start, place.end): place for place in row.evidence}  # several fields may rest on one
    for place in list(once.values())[:_EVIDENCE]:
        where = f"page {place.page}, " if place.page else ""
        names = _spoken_for(row, place)
        yield f"evidence   {names}{where}{place.start}-{place.end}: {shortened(place.text, _CHARACTERS)}"
    yield from (f"note       {one_line(note)}" for note in row.notes or ())
    yield f"original   {original or 'is not in archive/ any more'}"
    if item.newer_file is not None:
        yield f"newer      a newer file has this path: entry {item.newer_file:,}"
    if item.other_settings:
        yield f"settings   others than those of the job's newest row ({(row.job_digest or '')[:8]})"
    if item.replaced_by is not None:
        yield f"replaced   by row {item.replaced_by}"


def _spoken_for(row: pipeline.document.Row, place: pipeline.document.Evidence) -> str:
    """The names of the fields that rest on the place, before it."""
    found = [(each["name"], each["evidence"]) for each in row["fields"] or () if each["evidence"]]
    there = ((name, (at["start"], at["end"])) for name, at in found)
    names = dict.fromkeys(one_line(name) for name, span in there if span == (place.start, place.end))
    return f"{', '.join(names)}: " if names else ""


def _state(item: pipeline.index.Item) -> str:
    return f"{item.state}, {item.review_action} by {item.review_by}" if item.review_action else item.state


def sample(
    at: At,
    job: Annotated[str, job_argument("The job whose rows are checked.")],
    size: Annotated[
        int | None, option("--size", "Draw N rows; if left out, the last sample is shown.", "N", min=1, max=2_000)
    ] = None,
    seed: Annotated[
        str | None, option("--seed", "Draw by this seed; if left out, by the root of the log as it is.", "TEXT")
    ] = None,
    label: Annotated[str | None, option("--label", "Draw only rows with this label.", "LABEL")] = None,
    by: By = None,
) -> Answer:
    """Draw random rows of a job for checking, or show what came of the last ones.

    Drawn is from the rows that are done and that nobody has decided; the log keeps the seed and the rows. Decide on
    each by review accept, correct or reject. When all are decided, this tells how many of the answers were wrong, and
    between which bounds the share of wrong ones lies among all rows that were drawn from, with 95 % confidence
    (Clopper and Pearson).
    """
    check_job(at.workspace, job)
    with pipeline.index.open_index(at.site) as queue:
        queue.refresh()
        if size is not None:
            last = _draw(at, queue, job, size, seed, label, person(by))
        elif seed or label:
            raise ConfigError(Problem("--seed" if seed else "--label", "without --size", "--size N to draw rows"))
        elif drawn := [*pipeline.review.samples(at.site, job)]:
            last = drawn[-1]
        else:
            raise ConfigError(Problem(job, "no sample was drawn", "--size N, to draw one"))
        standing = pipeline.review.standing(queue, last)
    return Answer(_told(standing), _sample_lines(standing, drawn_now=size is not None))


def _draw(
    at: At, queue: pipeline.index.Index, job: str, size: int, seed: str | None, label: str | None, by: str
) -> pipeline.records.Sampled:
    if seed is not None:
        check_text("--seed", seed, "a seed, which stands in the log")
    with refusing(job, LookupError):
        drawn = pipeline.review.draw(at.site, queue, job, size, seed or pipeline.review.new_seed(at.site), by, label)
    at.record(drawn)
    return drawn


def _told(standing: pipeline.review.Standing) -> dict[str, Any]:
    its = standing.sample
    counts = {name: standing.count(name) for name in ("right", "wrong", "waits", "gone")}
    rate = standing.count("wrong") / standing.looked_at if standing.is_complete else None
    return {
        "job": its.of_job, "label": its.label, "seed": its.seed, "log_size": its.size, "population": its.population,
        "by": its.by, "drawn_again": standing.drawn_again, "counts": counts, "error_rate": rate,
        "interval_95": standing.interval, "rows": standing.rows,
    }  # fmt: skip


def _sample_lines(standing: pipeline.review.Standing, *, drawn_now: bool) -> Iterator[str | Table]:
    its = standing.sample
    what = "drawn now" if drawn_now else f"drawn by {its.by}"
    of = f"{its.population:,} rows{f' with {its.label}' if its.label else ''}"
    yield f"{counted(len(its.entries), 'row')} of {its.of_job}, {what} from {of} by the seed {its.seed}"
    cells = [
        (str(row.entry), row.item.path if row.item else "", row.item.answer if row.item else "", row.verdict)
        for row in standing.rows
    ]
    yield Table(("row", "document", "answer", "verdict"), cells, right=("row",), whole=("verdict",))
    if not standing.drawn_again:
        yield "The seed does not give these rows: some were deleted since, or they were not drawn by it."
    yield _verdict(standing)


def _verdict(standing: pipeline.review.Standing) -> str:
    wrong, looked_at, waits = standing.count("wrong"), standing.looked_at, standing.count("waits")
    if standing.interval is None:
        far = f"{wrong:,} of them wrong" if wrong else "none of them wrong"
        told = f"{looked_at:,} decided, {far}; " if looked_at else ""
        return f"{told}{waits:,} wait for a decision: cloister review show ROW, then accept, correct or reject"
    low, high = standing.interval
    share = f"{wrong:,} of {looked_at:,} wrong: {wrong / looked_at:.1%}"
    gone = standing.count("gone")
    more = f" ({gone:,} were replaced or deleted before anybody looked)" if gone else ""
    return f"{share}, between {low:.1%} and {high:.1%} with 95 % confidence{more}"
