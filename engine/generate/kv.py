"""The paged KV cache: sequences that begin alike share the pages of their common beginning."""

from typing import TYPE_CHECKING

import numpy as np

from engine.errors import EngineError
from engine.generate.pages import NO_PAGE, Node, PagePool, PrefixTree
from engine.generate.request import I32, PAGE, Forward, Ids

if TYPE_CHECKING:
    from engine.generate.jobs import Job

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


def pages_of(tokens: int) -> int:
    """How many pages hold so many tokens."""
    return -(-tokens // PAGE)


class KvCache:
    """Pages of a decoder, and `tables`, int32 [slots, pages of a sequence], which say which of them a sequence has."""

    def __init__(self, decoder: Forward, kind: str, count: int, slots: int, *, share: bool) -> None:
        """share: whether what was computed for one sequence is found by others. Raises EngineError if the system has
        no such memory."""
        try:
            self.pages = decoder.pages(count, kind)
        except MemoryError as error:
            raise EngineError(f"cache_mib: the system has no memory for {count} pages of {PAGE} tokens") from error
        self.count, self._share, self._slot_count = count, share, slots
        self.tables: I32 = np.zeros((slots, min(count, pages_of(decoder.shape.context))), np.int32)
        self.reset()

    def reset(self) -> None:
        """Frees all pages and forgets what they hold."""
        self.prefixes = PrefixTree()
        self.pool = PagePool(self.count, self.prefixes.forget)
        self._slots = list(range(self._slot_count - 1, -1, -1))

    @property
    def has_slot(self) -> bool:
        return bool(self._slots)

    def missing(self, sequence: Sequence) -> int:
        """Returns how many of the available pages a sequence takes until all its tokens and one more are computed."""
        known = [] if sequence.pages or not self._share else self.prefixes.find(sequence.ids[: sequence.wanted])
        there = len(sequence.pages) + sum(not self.pool.is_idle(node.page) for node in known)
        return max(0, pages_of(sequence.size + 1) - there)

    def admit(self, sequence: Sequence) -> int:
        """Gives a sequence a row of the page tables and, if it has no pages, those that hold its beginning already.
        Returns how many tokens these hold."""
        sequence.slot, before = self._slots.pop(), sequence.computed
        if self._share and not sequence.pages:
            self._begin(sequence)
        self.tables[sequence.slot, : len(sequence.pages)] = sequence.pages
        return sequence.computed - before

    def _begin(self, sequence: Sequence) -> None:
        known = self.prefixes.find(sequence.ids[: sequence.wanted])
        for node in known:
            self.pool.share(node.page)
        sequence.pages = [node.page for node in known]
        sequence.found, sequence.computed = len(known), len(known) * PAGE
        sequence.node = known[-1] if known else self.prefixes.root
        page, count = self.prefixes.find_partial(sequence.node, sequence.ids[sequence.computed : sequence.wanted])
        if page != NO_PAGE and self._copy(page, sequence):
            sequence.computed += count

    def _copy(self, page: int, sequence: Sequence) -> bool:
        """Copies a page into a new page of the sequence. Returns whether a page was free for that."""
        self.pool.share(page)  # so that it does not go itself
        target = self.pool.allocate()
        if target != NO_PAGE:
            self.pages.copy(page, target)
            sequence.pages.append(target)
        self.pool.free([page])
        return target != NO_PAGE

    def allocate(self, sequence: Sequence, tokens: int) -> bool:
        """Gives a sequence pages until they hold `tokens` tokens. Returns whether there were enough."""
        for at in range(len(sequence.pages), pages_of(tokens)):
            page = self.pool.allocate()
            if page == NO_PAGE:
                return False
            sequence.pages.append(page)
            self.tables[sequence.slot, at] = page
        return True

    def publish(self, sequence: Sequence) -> None:
        """Puts the full pages of a sequence into the prefix tree. A page whose content is there already is given
        back."""
        if not self._share:
            return
        for at in range(sequence.found, min(sequence.computed, sequence.size) // PAGE):
            block, page = sequence.ids[at * PAGE : (at + 1) * PAGE].tobytes(), sequence.pages[at]
            node = self.prefixes.add(sequence.node or self.prefixes.root, block, page)
            if node.page == page:
                self.pool.mark_known(page)
            else:
                self._replace(sequence, at, node)
            sequence.node, sequence.found = node, at + 1

    def _replace(self, sequence: Sequence, at: int, node: Node) -> None:
        self.pool.share(node.page)
        self.pool.free([sequence.pages[at]])
        sequence.pages[at] = node.page
        if sequence.slot != NO_SLOT:
            self.tables[sequence.slot, at] = node.page

    def fork(self, sequence: Sequence, child: Sequence) -> None:
        """Gives the child, which begins with all tokens of the sequence, what has been computed of these."""
        full, rest = divmod(sequence.computed, PAGE)
        child.pages = sequence.pages[:full]
        for page in child.pages:
            self.pool.share(page)
        child.node, child.found = sequence.node, min(sequence.found, full)
        child.computed = full * PAGE
        if rest and self._copy(sequence.pages[full], child):
            child.computed += rest

    def free(self, sequence: Sequence) -> None:
        """Takes its row of the page tables and its pages from a sequence: it begins again."""
        if sequence.slot != NO_SLOT:
            self._slots.append(sequence.slot)
            sequence.slot = NO_SLOT
        self.pool.free(reversed(sequence.pages))
        sequence.pages, sequence.node = [], None
        sequence.computed = sequence.found = sequence.guesses = 0
