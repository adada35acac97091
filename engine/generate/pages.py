"""The pool of pages: which of them are free, and how many sequences hold each of the others."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from engine.errors import EngineError
from engine.generate.request import PAGE, Ids
from engine.machine import free_bytes

SHARE = 0.5
"""Of the memory that is free when a model is loaded, for pages, if nobody says otherwise."""
NO_PAGE = -1
KEPT = 256


def page_count(bytes_per_page: int, useful: int, mib: float | None) -> int:
    """How many pages fit into so many MiB, or into SHARE of the free memory; no more than are useful. Raises
    EngineError if not even one does."""
    room = int(mib * (1 << 20) if mib is not None else free_bytes() * SHARE)
    if room < bytes_per_page:
        found = f"found {room / 2**20:g} MiB for keys and values"
        raise EngineError(
            f"cache_mib: {found}, expected at least {bytes_per_page / 2**20:g} for a page of {PAGE} tokens"
        )
    return min(room // bytes_per_page, useful)


class PagePool:
    """Page numbers 0..count - 1 with a count of their holders.

    A page that nobody holds any more, but whose content can be found again (`mark_known`), stays until its memory is
    needed: the one that was released first goes first, and `forget` is told. That is so too where more such pages are
    there than KEPT and twice those that are held: memory that was never written is the system's.
    """

    def __init__(self, count: int, forget: Callable[[int], None]) -> None:
        self.count, self._forget = count, forget
        self._free = list(range(count - 1, -1, -1))
        self._holders = [0] * count
        self._known: set[int] = set()
        self._idle: dict[int, None] = {}  # in the order in which they go

    @property
    def available(self) -> int:
        """How many pages `allocate` could give."""
        return len(self._free) + len(self._idle)

    def is_idle(self, page: int) -> bool:
        """Whether a page's content is there though nobody holds the page."""
        return page in self._idle

    def allocate(self) -> int:
        """Returns a page with one holder; NO_PAGE if none is left."""
        held = self.count - len(self._free) - len(self._idle)
        if self._idle and (not self._free or len(self._idle) > max(KEPT, 2 * held)):
            page = next(iter(self._idle))
            del self._idle[page]
            self._known.remove(page)
            self._forget(page)
        elif self._free:
            page = self._free.pop()
        else:
            return NO_PAGE
        self._holders[page] = 1
        return page

    def share(self, page: int) -> None:
        """Adds a holder to a page."""
        self._idle.pop(page, None)
        self._holders[page] += 1

    def mark_known(self, page: int) -> None:
        """Notes that the prefix tree can find this page's content, so that it stays when its last holder frees it."""
        self._known.add(page)

    def free(self, pages: Iterable[int]) -> None:
        """Takes a holder from each page. Pages named first are reused first."""
        for page in pages:
            self._holders[page] -= 1
            if self._holders[page]:
                continue
            if page in self._known:
                self._idle[page] = None
            else:
                self._free.append(page)


_LOOKED_AT = 8  # pages that are compared token by token, the youngest
_WORTH = 4  # tokens for which a page is copied


@dataclass(eq=False)
class Node:
    """A full page whose tokens follow those of its parents."""

    parent: "Node | None"
    block: bytes
    page: int
    children: dict[bytes, "Node"] = field(default_factory=dict)


class PrefixTree:
    """A tree of full pages. Who holds a page holds its parents too, so leaves become idle, and go, before them."""

    def __init__(self) -> None:
        self.root = Node(None, b"", -1)
        self._nodes: dict[int, Node] = {}

    def find(self, ids: Ids) -> list[Node]:
        """The pages that hold the longest known beginning of these tokens."""
        node, found = self.root, []
        for begin in range(0, ids.size - PAGE + 1, PAGE):
            after = node.children.get(ids[begin : begin + PAGE].tobytes())
            if after is None:
                break
            node = after
            found.append(node)
        return found

    def find_partial(self, node: Node, ids: Ids) -> tuple[int, int]:
        """A page after `node` that begins with as many of these tokens as any that was looked at, and how many; none
        if they are too few to be worth a copy."""
        page, most = -1, _WORTH - 1
        for block, child in islice(reversed(node.children.items()), _LOOKED_AT):
            count = common(np.frombuffer(block, np.int32), ids)
            if count > most:
                page, most = child.page, count
        return (page, most) if page >= 0 else (-1, 0)

    def add(self, node: Node, block: bytes, page: int) -> Node:
        """Adds the page with the tokens `block` after `node`. Returns its node, or that of an equal page known
        before."""
        there = node.children.get(block)
        if there is None:
            there = node.children[block] = self._nodes[page] = Node(node, block, page)
        return there

    def forget(self, page: int) -> None:
        """Removes a page from the tree: it is going to be overwritten."""
        node = self._nodes.pop(page)
        assert node.parent is not None
        del node.parent.children[node.block]


def common(one: Ids, other: Ids) -> int:
    """Returns the number of tokens with which both begin."""
    size = min(one.size, other.size)
    differ = one[:size] != other[:size]
    at = int(differ.argmax()) if size else 0
    return at if size and differ[at] else size
