"""A filter and an order, as SQL over the index."""

import json
from collections.abc import Sequence
from typing import Any

from pipeline.index.tables import FACTS, NO_SCORE
from pipeline.index.values import Filter

Where = tuple[str, list[Any]]

RANKS = {
    "review": (0,), "abstained": (1,), "done": (2, 3), "failed": (4,), "rejected": (5,), "duplicate": (6,)
}  # fmt: skip
"""State -> its places in the order by score; a person's decision stands in the last of them."""
OTHER = 7
_PIECES = 12  # of a text that are looked up

_ORDERS: dict[str, tuple[str, bool]] = {
    "score": ("rank, score, entry", False),
    "uncertain": ("uncertain, entry", False),
    "age": ("entry", False),
    "newest": ("entry", True),
    "size": ("size, entry", True),
    "path": ("path, entry", False),
}
"""Order -> the columns of its index, and whether it is read backwards."""


def order_of(sort: str) -> tuple[str, bool]:
    """The columns of an order, and whether it goes backwards. ValueError."""
    if sort not in _ORDERS:
        raise ValueError(f"no order {sort!r}; there are {', '.join(_ORDERS)}")
    return _ORDERS[sort]


def where(asked: Filter) -> Where:
    """The condition of a filter, but for its text."""
    tests, values = list[str](), list[Any]()
    for column, names in _names(asked):
        tests.append(f"{column} IN (SELECT id FROM word WHERE text IN ({', '.join('?' * len(names))}))")
        values += names
    if asked.folder is not None:
        folder = asked.folder.strip("/")
        below = "text = ? OR (text >= ? AND text < ?)" if folder else "text >= ? OR text >= ? OR text >= ?"
        tests.append(f"folder IN (SELECT id FROM word WHERE {below})")
        values += [folder, f"{folder}/" if folder else "", f"{folder}0" if folder else ""]
    if asked.review == "any":
        tests.append("review > 0")
    elif asked.review == "none":
        tests.append("review = 0")
    if asked.settings == "current":
        tests.append("(job, settings) IN (SELECT job, settings FROM newest)")
    if asked.versions == "newest":
        tests.append("older = 0")
    elif asked.versions == "rule":
        tests.append("(older = 0 OR job NOT IN (SELECT job FROM rule))")
    return " AND ".join(tests) or "1", values


def _names(asked: Filter) -> list[tuple[str, Sequence[str]]]:
    review = (asked.review,) if asked.review not in (None, "any", "none") else ()
    night = (asked.night,) if asked.night is not None else ()
    each = (
        ("job", asked.jobs), ("state", asked.states), ("label", asked.labels), ("failure", asked.failures),
        ("night", night), ("review", review), ("settings", asked.digests),
    )  # fmt: skip
    return [(column, names) for column, names in each if names]


def behind(sort: str, after: str | None, *, turned: bool = False) -> Where:
    """The condition of what stands behind the place `after`, which `place_of` gave, or before it if `turned`.
    ValueError."""
    columns, backwards = order_of(sort)
    if after is None:
        return "1", []
    try:
        values = json.loads(after)
    except ValueError:
        values = None
    count = len(columns.split(", "))
    if not isinstance(values, list) or len(values) != count or not all(type(v) in (int, float, str) for v in values):
        raise ValueError(f"{after!r} is no place in the order {sort!r}")
    return f"({columns}) {'<' if backwards != turned else '>'} ({', '.join('?' * count)})", values


def place_of(values: Sequence[Any]) -> str:
    """A place in an order, as text: the values of its columns."""
    return json.dumps(list(values), separators=(",", ":"))


def ordered(sort: str, *, turned: bool = False) -> str:
    """The ORDER BY of an order, or of the opposite one if `turned`."""
    columns, backwards = order_of(sort)
    return ", ".join(f"{column} DESC" if backwards != turned else column for column in columns.split(", "))


def ranks(asked: Filter) -> str:
    """A condition that follows from the states that are asked for, and lets the index by score begin at them."""
    states = asked.states or (("failed",) if asked.failures else ())
    known = [rank for state in states for rank in RANKS.get(state, (0, OTHER))]
    return f"rank BETWEEN {min(known)} AND {max(known)}" if known else "1"


def trigrams(text: str) -> str | None:
    """The query by which texts that may have this one are found; None for one that is too short for it."""
    starts = [*range(0, len(text) - 2, 3), len(text) - 3] if len(text) > 2 else []
    pieces = dict.fromkeys(text[at : at + 3] for at in starts[-_PIECES:])  # which cover it; that is found by fewer
    if "\0" in text or not pieces:
        return None
    return " AND ".join('"' + piece.replace('"', '""') + '"' for piece in pieces)


def only_current(asked: Filter) -> str:
    """The condition that lets an index be used: those of rows that others replaced are sought without one."""
    return "current = 1" if asked.current else "current IN (0, 1)"


def fact(by: str) -> str:
    """The column of a fact by which is counted. ValueError."""
    if by not in FACTS or by in ("settings", "older"):
        raise ValueError(f"documents are not counted by {by!r}")
    return by


def score_of(stored: float) -> float | None:
    """A score as it was; None for the one that stands for none."""
    return None if stored >= NO_SCORE else stored
