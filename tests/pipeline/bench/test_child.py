"""What a child of `cloister bench` counts, with a clock of the test's."""

import mmap
from pathlib import Path

import pytest

import engine
from engine.bench import Work
from pipeline.bench.child import own_bytes, text_of, times_per_second


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> engine.Model:
    return engine.load(tiny_model)


@pytest.mark.parametrize("tokens", [8, 17, 128])
def test_a_text_has_as_many_tokens_as_it_should(model: engine.Model, tokens: int) -> None:
    text = text_of(model, tokens)
    assert model.count_tokens([text]) == [tokens]
    assert len(set(text.split())) > 1


def test_times_per_second_of_works_that_take_turns() -> None:
    now = [0.0]
    done: list[str] = []

    def work(name: str, seconds: float) -> Work:
        def run(times: int) -> None:
            done.append(name)
            now[0] += times * seconds

        return Work(name, run)

    assert times_per_second([[work("a", 0.001), work("b", 0.5)]], 0.1, lambda: now[0]) == pytest.approx([1000, 2])
    assert done[4:] == ["a", "b"] * 5  # after being made ready and counted


def test_memory_of_its_own_is_what_is_made() -> None:
    """Pages of a new mapping: those of a bytearray may be ones that the heap had already."""
    before = own_bytes()
    with mmap.mmap(-1, 2**24, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        assert own_bytes() - before < 2**22  # nothing until it is written to
        for page in range(0, 2**24, mmap.PAGESIZE):
            held[page] = 1
        assert own_bytes() - before == pytest.approx(2**24, rel=0.2)
