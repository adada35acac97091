"""Prefix caching: full pages that have been computed before are found by their tokens."""

from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from engine.generate.forward import PAGE
from engine.generate.request import Ids

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
