"""The report of a night as Markdown, for mail and for readers of text."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pipeline.errors import Failure
from pipeline.outbox.markdown import escaped
from pipeline.reports.night import Night
from pipeline.reports.page import bars, speed
from pipeline.reports.rows import ShownRow, original_of
from pipeline.states import State


def markdown(night: Night, root: Path) -> str:
    """The whole file; ends with a newline."""
    blocks = [
        f"# {escaped(night.job)}: night of {night.night}",
        f"**{night.verdict}**",
        *map(escaped, night.more),
        *(f"**Warning:** {escaped(drift.sentence)}." for drift in night.warnings),
        _table(("answered", "to look at", "failed", "copies", "documents in all"), [_counts(night)]),
        f"{night.task} with {escaped(night.model)}: {speed(night)}",
        *_shares(night),
        *_rows("Failed", night.failed, night.count(State.FAILED), root),
        *_remedies(night),
        *_rows("To look at", night.look, night.count(State.REVIEW, State.ABSTAINED), root),
        *_rows("Least certain answers", night.uncertain, len(night.uncertain), root),
        f"Made by {escaped(night.software)}. The same report with plots and a glossary: report-{night.night}.html",
    ]
    return "\n\n".join(blocks) + "\n"


def _counts(night: Night) -> Sequence[str]:
    states = ((State.DONE,), (State.REVIEW, State.ABSTAINED), (State.FAILED,), (State.DUPLICATE,))
    return [*(f"{night.count(*each):,}" for each in states), f"{night.total:,}"]


def _shares(night: Night) -> Iterator[str]:
    for what, name in (("labels", "answers"), ("failures", "failures")):
        if found := bars(night, what):
            cells = ((escaped(bar.name or "others"), f"{bar.count:,}", f"{100 * bar.share:.1f} %") for bar in found)
            yield _table((name, "documents", "share"), cells)


def _rows(title: str, rows: Sequence[ShownRow], total: int, root: Path) -> Iterator[str]:
    if not rows:
        return
    yield f"## {title}"
    cells = (
        (_linked(row, root), escaped(_told(row)), "" if row.score is None else f"{row.score:.2f}", str(row.n))
        for row in rows
    )
    yield _table(("document", "what", "score", "entry"), cells)
    if total > len(rows):
        yield f"And {total - len(rows):,} more."


def _told(row: ShownRow) -> str:
    if row.state == State.DONE:
        return row.answer
    reason = f"{row.failure or row.state}: {row.reason}" if row.reason else row.failure or row.state
    return f"{reason} ({row.answer})" if row.answer else reason


def _linked(row: ShownRow, root: Path) -> str:
    link, path = original_of(root, row), escaped(row.shown_path)
    return f"[{path}](<{link}>)" if link else path


def _remedies(night: Night) -> Iterator[str]:
    if night.shares.failures:
        yield "\n".join(f"- {name}: {Failure(name).remedy}" for name in sorted(night.shares.failures))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
