"""Whole rows in an order of the queue."""

from collections.abc import Iterator
from typing import Any, cast

from pipeline.outbox.results import rows_of
from pipeline.plan import Site
from pipeline.review.queue.index import Queue
from pipeline.review.queue.shown import Filter, Item

_PAGE = 500
_AT_ONCE = 5_000  # rows in memory: those of one part are read together


def items_in_order(queue: Queue, asked: Filter, sort: str, limit: int | None = None) -> Iterator[Item]:
    """All items that a filter lets through, or the first of them. ValueError for an order that is none."""
    left, after = limit, cast(str | None, None)
    while left is None or left > 0:
        items, after = queue.items(asked, sort, after, _PAGE if left is None else min(_PAGE, left))
        yield from items
        left = None if left is None else left - len(items)
        if after is None:
            return


def rows_in_order(
    site: Site, queue: Queue, asked: Filter, sort: str, limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """The rows of these items, as `results` gives them; not of parts that are gone. BadPartError, ValueError."""
    some = list[Item]()
    for item in items_in_order(queue, asked, sort, limit):
        some.append(item)
        if len(some) == _AT_ONCE:
            yield from _rows(site, some)
            some = []
    yield from _rows(site, some)


def _rows(site: Site, items: list[Item]) -> Iterator[dict[str, Any]]:
    wanted: dict[str, set[int]] = {}
    for item in items:
        wanted.setdefault(item.part, set()).add(item.entry)
    found: dict[int, dict[str, Any]] = {}
    for part, entries in wanted.items():
        if (site.root / part).is_file():
            found |= rows_of(site.at_rest, site.root / part, entries)
    for item in items:
        if item.entry in found:
            marks: dict[str, Any] = {"other_settings": True} if item.other_settings else {}
            marks |= {} if item.newer_file is None else {"newer_file": item.newer_file}
            yield found[item.entry] | {"job": item.job} | marks
