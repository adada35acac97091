"""What ends a run, and what one request cannot do to others."""

from collections.abc import Iterator

import numpy as np
import pytest

import engine
from engine.generate.constraint.spec import Pattern
from engine.generate.model import LanguageModel
from engine.generate.request import Completion, Counters, Request
from engine.generate.scheduler import Limits
from tests.language import Form, TinyDecoder, TinyPages, ids_of, tiny_language_model

PROMPT = ids_of("The lease begins on 1 May, and ends when it is ended.")
GOOD = Request(PROMPT, 30)
PAGE_BYTES = TinyDecoder().pages(1).bytes_per_page


def ask(model: LanguageModel, *requests: Request) -> list[Completion]:
    return [completion for _, completion in sorted(model.generate(requests), key=lambda item: item[0])]


def usable(model: LanguageModel) -> bool:
    pool = model._batch._cache.pool
    (found,) = ask(model, GOOD)
    (expected,) = ask(tiny_language_model(), GOOD)
    same = found.ids.tolist() == expected.ids.tolist() and found.logprobs.tobytes() == expected.logprobs.tobytes()
    return same and model._batch._cache.pool is pool and pool.available == pool.count


def test_whoever_stops_iterating_stops_the_work() -> None:
    model = tiny_language_model(limits=Limits(sequences=3))
    answers = model.generate([Request(PROMPT, i + 1) for i in range(9)])
    next(answers)
    steps = model.counters.steps
    answers.close()  # type: ignore[attr-defined]
    assert model.counters.steps == steps
    assert usable(model)


def test_requests_are_taken_as_they_are_needed() -> None:
    taken = []

    def requests() -> Iterator[Request]:
        for i in range(1000):
            taken.append(i)
            yield Request(PROMPT, 3)

    answers = tiny_language_model(limits=Limits(sequences=2, ahead=4)).generate(requests())
    next(answers)
    assert len(taken) <= 8


def test_requests_may_depend_on_answers() -> None:
    """What is asked is taken when it can begin, and not as soon as it is there."""
    heard = 0

    def requests() -> Iterator[Request]:
        for i in range(40):
            assert i < heard + 5
            yield Request(PROMPT[i:], 3)

    for _ in tiny_language_model(limits=Limits(sequences=3, ahead=3)).generate(requests()):
        heard += 1
    assert heard == 40


def test_what_the_requests_raise_is_raised() -> None:
    def requests() -> Iterator[Request]:
        yield from [GOOD] * 3
        raise KeyError("the disk")

    model = tiny_language_model(limits=Limits(ahead=2))
    with pytest.raises(KeyError, match="the disk"):
        list(model.generate(requests()))
    assert usable(model)


@pytest.mark.parametrize("step", range(8))
def test_an_exception_in_the_middle(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, constraint = TinyDecoder(), Pattern("## is ?* of **")
    model = tiny_language_model(decoder=decoder, limits=Limits(sequences=3, rows=40))
    requests = [Request(PROMPT[i:], 12, constraint=constraint if i % 2 else None) for i in range(9)]
    compute = decoder.step

    def break_off(*arguments: object) -> object:
        if len(decoder.steps) == step:
            raise MemoryError
        return compute(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(decoder, "step", break_off)
    with pytest.raises(MemoryError):
        list(model.generate(requests))
    monkeypatch.undo()
    assert usable(model)


def test_one_at_a_time() -> None:
    model = tiny_language_model()
    first = model.generate([GOOD, GOOD])
    next(first)
    with pytest.raises(engine.EngineError, match="one `generate` at a time"):
        next(model.generate([GOOD]))
    assert len(list(first)) == 1
    assert usable(model)


def test_progress_after_each_step() -> None:
    seen: list[Counters] = []
    decoder = TinyDecoder()
    model = tiny_language_model(decoder=decoder)
    list(model.generate([GOOD] * 3, progress=seen.append))
    assert [facts.steps for facts in seen] == [*range(1, len(decoder.steps) + 1)]
    assert seen[-1].rows == sum(count for count, _ in decoder.steps)
    assert model.counters.requests == 3
    assert model.counters.written == 90


def test_a_constraint_fails_alone() -> None:
    """Its Spec is refused; it allows nothing; it raises on its way."""

    class Nothing(Form):
        def mask(self) -> np.ndarray:
            return super().mask() * 0 if self.at == 2 else super().mask()

        def advance(self, ids: object) -> None:
            super().advance(ids)  # type: ignore[arg-type]
            if self.at == 4:
                raise engine.EngineError("broke")

    requests = [Request(PROMPT, 9, constraint=Pattern(text)) for text in ("!", "?????", "?:????", "??")]
    found = ask(tiny_language_model(make=Nothing), GOOD, *requests, GOOD)
    assert [item.finish for item in found] == ["length", "failed", "failed", "failed", "stopped", "length"]
    assert found[1].reason == "!: ! cannot be satisfied"
    assert found[2].reason == found[3].reason == "the constraint allows no token here"
    assert found[2].ids.size == 2
    assert found[0].ids.tolist() == found[5].ids.tolist()
    with pytest.raises(engine.EngineError, match="cannot be satisfied"):
        tiny_language_model().check(Pattern("!"))


@pytest.mark.parametrize("count", [1, 6])
def test_a_constraint_that_gives_up_fails_alone(count: int) -> None:
    """Alone, and where the masks of many are made at once."""

    class GivesUp(Form):
        def mask(self) -> np.ndarray:
            if self.pattern == "???" and self.at == 1:
                raise engine.EngineError("too complex")
            return super().mask()

    fine, complex_ = (Request(PROMPT, 9, constraint=Pattern(text)) for text in ("????", "???"))
    found = ask(tiny_language_model(make=GivesUp), complex_, *[fine] * count)
    assert [item.finish for item in found] == ["failed", *["stopped"] * count]
    assert (found[0].reason, found[0].ids.size) == ("too complex", 1)
    assert len({item.text for item in found[1:]}) == 1


def test_memory_that_the_system_does_not_have() -> None:
    class Greedy(TinyDecoder):
        def pages(self, count: int, kind: str = "float16") -> TinyPages:
            if count > 1:
                raise MemoryError
            return super().pages(count, kind)

    with pytest.raises(engine.EngineError, match=r"cache_mib: the system has no memory for 10\d\d pages"):
        tiny_language_model(decoder=Greedy())


def test_memory_that_holds_too_little() -> None:
    with pytest.raises(engine.EngineError, match=r"found 0 MiB for keys and values, expected at least 0\.0039"):
        tiny_language_model(cache_mib=0)
    model = tiny_language_model(cache_mib=3 * PAGE_BYTES / 2**20)
    fits, does_not = Request(PROMPT, 96 - PROMPT.size), Request(PROMPT, 97 - PROMPT.size)
    found = ask(model, GOOD, does_not, fits, Request(PROMPT, 0, choices=(PROMPT,)))
    assert [item.finish for item in found] == ["length", "failed", "length", "failed"]
    assert found[1].reason.endswith("may follow; the memory for keys and values (cache_mib) holds 96")
    assert usable(model)


def test_nothing_is_asked_for() -> None:
    model = tiny_language_model()
    assert list(model.generate([])) == []
    empty, bare = ask(model, Request(PROMPT, 0), Request(PROMPT, 3, choices=(PROMPT[:0], PROMPT[:1])))
    assert (empty.finish, empty.ids.size) == ("length", 0)
    assert bare.scores[0] == 0
    assert model.counters.steps == 1
