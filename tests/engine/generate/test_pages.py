"""Pages with several holders, and what is found again."""

import numpy as np
import pytest

import engine
from engine.generate.pages import KEPT, NO_PAGE, PagePool, PrefixTree, common, page_count


def test_a_page_is_free_when_its_last_holder_left() -> None:
    pool = PagePool(2, lambda page: None)
    first, second = pool.allocate(), pool.allocate()
    assert pool.allocate() == NO_PAGE
    pool.share(first)
    pool.free([first, second])
    assert pool.available == 1
    assert pool.allocate() == second
    pool.free([first])
    assert pool.allocate() == first


def test_what_can_be_found_again_goes_last_and_the_oldest_first() -> None:
    forgotten: list[int] = []
    pool = PagePool(4, forgotten.append)
    pages = [pool.allocate() for _ in range(4)]
    for page in pages[:3]:
        pool.mark_known(page)
    pool.free([pages[1], pages[0], pages[3], pages[2]])
    assert pool.available == 4
    assert [pool.allocate() for _ in range(2)] == [pages[3], pages[1]]
    assert forgotten == [pages[1]]
    pool.share(pages[0])  # found again
    assert pool.allocate() == pages[2]
    assert pool.allocate() == NO_PAGE
    pool.free([pages[2]])  # its content is not known any more
    assert pool.allocate() == pages[2]
    assert forgotten == [pages[1], pages[2]]


def test_a_long_night_does_not_write_to_all_pages() -> None:
    pool, seen = PagePool(100_000, lambda page: None), set()
    for _ in range(1000):
        pages = [pool.allocate() for _ in range(5)]
        seen.update(pages)
        for page in pages:
            pool.mark_known(page)
        pool.free(pages)
    assert len(seen) <= KEPT + 10
    held = [pool.allocate() for _ in range(10 * KEPT)]
    assert len(set(held)) == 10 * KEPT


def test_as_many_pages_as_fit_and_are_useful() -> None:
    assert page_count(1 << 20, 100, 7) == 7
    assert page_count(1 << 20, 5, 7) == 5
    assert page_count(1 << 20, 10**9, None) > 1
    with pytest.raises(engine.EngineError, match=r"cache_mib: found 0\.5 MiB .* at least 1 for a page of 32 tokens"):
        page_count(1 << 20, 5, 0.5)


def row(*numbers: int) -> np.ndarray:
    return np.repeat(np.array(numbers, np.int32), 16)


def test_the_longest_known_beginning() -> None:
    known, a, b, c = PrefixTree(), row(1, 2), row(3, 4), row(3, 5)
    first = known.add(known.root, a.tobytes(), 7)
    second = known.add(first, b.tobytes(), 8)
    third = known.add(first, c.tobytes(), 9)
    assert known.add(known.root, a.tobytes(), 5) is first
    assert known.find(np.concatenate([a, b, a])) == [first, second]
    assert known.find(np.concatenate([a, c])[:63]) == [first]
    assert known.find(b) == []
    assert known.find_partial(first, c[:20]) == (9, 20)
    assert known.find_partial(first, row(3, 9)) == (9, 16)
    assert known.find_partial(first, row(3)[:3]) == (-1, 0)  # not worth a copy
    assert known.find_partial(third, a) == (-1, 0)
    known.forget(9)
    assert known.find(np.concatenate([a, c])) == [first]


def test_common_beginnings() -> None:
    assert common(row(1, 2), row(1, 3)) == 16
    assert common(row(1), row(1, 3)) == 16
    assert common(row(2), row(1)) == 0
    assert common(row(2)[:0], row(1)) == 0
