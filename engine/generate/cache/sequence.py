"""A sequence: tokens that go through the decoder one after another, and the pages of their keys and values."""

from typing import TYPE_CHECKING

import numpy as np

from engine.generate.cache.prefix import Node
from engine.generate.request import Ids

if TYPE_CHECKING:
    from engine.generate.answers.jobs import Job

NO_SLOT = -1


class Sequence:
    """ids[:size] are its tokens; behind them lie guesses. Of the first `computed` tokens keys and values are in
    `pages`, and the contents of the first `found` pages are in the tree of prefixes, the last of them `node`. Logits
    are wanted from the position `wanted` on. `order`: lower is older. `slot`: its row of the page tables while it runs.
    """

    __slots__ = ("computed", "found", "guesses", "ids", "job", "leader", "node", "order", "pages", "size", "slot",
                 "until", "wanted")  # fmt: skip

    def __init__(self, job: "Job", order: tuple[int, int], ids: Ids, wanted: int, room: int = 0) -> None:
        """`room` is how many more tokens can be appended."""
        self.job, self.order, self.size, self.wanted = job, order, ids.size, wanted
        self.ids = np.concatenate([ids, np.zeros(room, np.int32)], dtype=np.int32)
        self.computed = self.found = self.guesses = self.until = 0
        self.slot, self.pages = NO_SLOT, list[int]()
        self.node: Node | None = None
        self.leader: Sequence | None = None

    @property
    def rest(self) -> int:
        """How many tokens have not been computed."""
        return self.size - self.computed

    def append(self, number: int) -> None:
        """Appends a token. If it was guessed rightly it is computed already; after a wrong guess the computed rows do
        not count."""
        if self.computed > self.size and self.ids[self.size] != number:
            self.computed = self.size
        self.ids[self.size] = number
        self.size += 1
