"""Nights that are made up, for tests of what their reports say."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pipeline.pages.text import one_line
from pipeline.records.types import Pace, Shares
from pipeline.reports.night import Night
from pipeline.reports.rows import ShownRow

EVIL = '"><script>alert(1)</script>\u202e\x1b[2J'
START = 1_795_557_632  # 2026-11-24, 22:00:32 in UTC


def shares(states: Mapping[str, int], **more: Any) -> Shares:
    """The shares of a night with these states, whose answers are leases and invoices by turns."""
    done = states.get("done", 0)
    labels = {name: count for name, count in (("lease", done // 2), ("invoice", done - done // 2)) if count}
    scores = (*[0] * 10, *[done // 10] * 9, done - 9 * (done // 10))
    made = Shares(
        states=dict(states), labels=labels, scores=scores, pace=Pace(START, 64, (5, 0, 7)), seconds=60.0, runs=1
    )
    return replace(made, **more)


def night(states: Mapping[str, int], **more: Any) -> Night:
    """The night with these states."""
    facts: dict[str, Any] = {
        "job": "sort", "task": "classify", "night": "2026-11-24", "shares": shares(states), "failed": (), "look": (),
        "uncertain": (), "earlier": {}, "others": 0, "waiting": 0, "ignored": 0, "known": 0, "stopped": False,
        "model": "tiny", "software": "cloister 0.1.0", "private": False, **more,
    }  # fmt: skip
    return Night(**facts)


def row(n: int, state: str, path: str = "post/a letter.pdf", **more: Any) -> ShownRow:
    """A row to be shown."""
    facts: dict[str, Any] = {
        "failure": "corrupt" if state == "failed" else None, "answer": "" if state == "failed" else "lease (0.40)",
        "reason": "", "score": None if state == "failed" else 0.4, "where": "page 2", **more,
    }  # fmt: skip
    facts |= {name: one_line(facts[name], 200) for name in ("answer", "reason")}  # as shown_row makes them
    return ShownRow(n=n, job="sort", path=path, sha256="ab" * 32, state=state, **facts)
