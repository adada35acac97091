"""Which pages are free, which are held, and by how many."""

from collections.abc import Callable, Iterable

from engine.errors import EngineError
from engine.generate.forward import PAGE
from engine.memory import free_bytes

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


class Pool:
    """Page numbers 0..count - 1 with a count of their holders.

    A page that nobody holds any more, but whose content can be found again (`keep`), stays until its memory is needed:
    the one that was released first goes first, and `forget` is told. That is so too where more such pages are there
    than KEPT and twice those that are held: memory that was never written is the system's.
    """

    def __init__(self, count: int, forget: Callable[[int], None]) -> None:
        self.count, self._forget = count, forget
        self._free = list(range(count - 1, -1, -1))
        self._holders = [0] * count
        self._known: set[int] = set()
        self._idle: dict[int, None] = {}  # in the order in which they go

    @property
    def available(self) -> int:
        """Pages that `take` would give."""
        return len(self._free) + len(self._idle)

    def is_idle(self, page: int) -> bool:
        """Whether it is there though nobody holds it."""
        return page in self._idle

    def take(self) -> int:
        """A page with one holder; NO_PAGE if there is none."""
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
        """One more holder."""
        self._idle.pop(page, None)
        self._holders[page] += 1

    def keep(self, page: int) -> None:
        """Its content will be found again."""
        self._known.add(page)

    def release(self, pages: Iterable[int]) -> None:
        """One holder less of each. Say first which are to go first."""
        for page in pages:
            self._holders[page] -= 1
            if self._holders[page]:
                continue
            if page in self._known:
                self._idle[page] = None
            else:
                self._free.append(page)
