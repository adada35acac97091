"""A result depends on its request alone: whatever runs beside it, in whatever order and memory, with guesses or
without, it is that of one request after another and one token after another."""

from dataclasses import replace

import numpy as np
import pytest

from engine.generate.constraint.spec import Pattern
from engine.generate.model import LanguageModel
from engine.generate.request import Completion, Request
from engine.generate.scheduler import Limits
from tests.language import END, Bytes, Form, TinyDecoder, ids_of, tiny_language_model
from tests.reference.generation import Writer

INSTRUCTION = ids_of("Say what the lease says of the rent, and what of the date. ")
PAGE_BYTES = TinyDecoder().pages(1).bytes_per_page


def made_up(count: int) -> list[Request]:
    """Requests with and without constraints and choices, most of them under one instruction."""
    chance = np.random.default_rng(3)
    requests = []
    for i in range(count):
        document = chance.integers(97, 123, chance.integers(1, 90)).astype(np.int32)
        prompt = np.concatenate([INSTRUCTION, document]) if i % 5 else document
        limit = int(chance.integers(0, 40))
        spec = Pattern(["rent: ### (?????); ends ***", "##", "nothing", "********************"][i % 4])
        choices = tuple(ids_of(text) for text in ("rent", "rental", "lease", "r", "deposit of the rent", "rent"))
        requests.append(
            Request(prompt, limit, choices=choices[: 1 + i % 6])
            if i % 3 == 0
            else Request(prompt, limit, constraint=spec if i % 3 == 1 else None, source=prompt[::-1] if i % 2 else None)
        )
    return requests


REQUESTS = made_up(40)
Found = list[tuple[object, ...]]


def facts(completion: Completion) -> tuple[object, ...]:
    arrays = [completion.ids, completion.logprobs, completion.offsets, completion.scores]
    rest = (completion.text, completion.finish, completion.reason, completion.prompt_tokens)
    return *((array.dtype, array.tobytes()) for array in arrays), *rest


@pytest.fixture(scope="module")
def expected() -> Found:
    writer = Writer(TinyDecoder(), Bytes.token_bytes, Bytes.end_ids, Form)
    return [facts(writer.answer(request)) for request in REQUESTS]


def ask(
    requests: list[Request], limits: Limits, pages: int | None = None, decoder: TinyDecoder | None = None
) -> tuple[Found, LanguageModel]:
    mib = None if pages is None else pages * PAGE_BYTES / 2**20
    model = tiny_language_model(decoder=decoder, limits=limits, cache_mib=mib)
    found = dict(model.generate(requests))
    assert model.counters.requests == len(requests)
    assert nothing_is_held(model)
    return [facts(found[index]) for index in range(len(requests))], model


def nothing_is_held(model: LanguageModel) -> bool:
    pool = model._batch._cache.pool
    return pool.available == pool.count and not any(pool._holders)


@pytest.mark.parametrize("sequences", [1, 2, 5, 32])
@pytest.mark.parametrize("rows", [1, 33, 512])
def test_batches_and_chunks(sequences: int, rows: int, expected: Found) -> None:
    decoder = TinyDecoder()
    assert ask(REQUESTS, Limits(sequences=sequences, rows=rows, ahead=8), decoder=decoder)[0] == expected
    assert max(count for count, _ in decoder.steps) <= rows


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("guess", [False, True])
def test_shared_prefixes_and_guesses(share: bool, guess: bool, expected: Found) -> None:
    found, model = ask(REQUESTS, Limits(share=share, guess=guess))
    assert found == expected
    assert (model.counters.shared > 0) == share
    assert model.counters.guessed == 0 or guess


@pytest.mark.parametrize("pages", [7, 9, 14, 40])
@pytest.mark.parametrize("share", [False, True])
def test_little_memory(pages: int, share: bool, expected: Found) -> None:
    assert ask(REQUESTS, Limits(share=share), pages)[0] == expected


@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("sequences", [2, 8])
def test_long_answers_in_little_memory(share: bool, sequences: int) -> None:
    """They lose their pages again and again, and go on as if nothing had been."""
    requests = [Request(ids_of(f"{i} is a number"), 120 + 10 * i) for i in range(8)]
    plenty, model = ask(requests, Limits())
    assert model.counters.preempted == 0
    found, model = ask(requests, Limits(share=share, sequences=sequences), 8)
    assert found == plenty
    assert model.counters.preempted > 1


@pytest.mark.parametrize("seed", range(3))
def test_orders(seed: int, expected: Found) -> None:
    order = np.random.default_rng(seed).permutation(len(REQUESTS))
    found, _ = ask([REQUESTS[i] for i in order], Limits(ahead=5), 30)
    assert found == [expected[i] for i in order]


def test_again_on_the_same_model(expected: Found) -> None:
    model = tiny_language_model(cache_mib=30 * PAGE_BYTES / 2**20)
    for _ in range(2):
        found = dict(model.generate(REQUESTS[:9]))
        assert [facts(found[i]) for i in range(9)] == expected[:9]
    assert model.counters.shared > 9 * len(INSTRUCTION) // 2


def test_the_instruction_is_computed_once() -> None:
    texts = [ids_of(f"{chr(65 + i)} is the name of this text") for i in range(20)]
    requests = [Request(np.concatenate([INSTRUCTION, text]), 1) for text in texts]
    _, model = ask(requests, Limits())
    assert len(INSTRUCTION) % 32
    alone = sum(request.prompt.size for request in requests)
    assert model.counters.prompt_rows == alone - 19 * len(INSTRUCTION)
    assert model.counters.shared == 19 * len(INSTRUCTION)


def test_shared_tokens_are_told() -> None:
    model = tiny_language_model()
    request = Request(INSTRUCTION, 1)
    assert [done.shared_tokens for _, done in model.generate([request])] == [0]
    assert [done.shared_tokens for _, done in model.generate([request])] == [32]  # full pages


def test_tokens_that_must_follow_take_no_step() -> None:
    decoder = TinyDecoder()
    request = Request(INSTRUCTION, 99, constraint=Pattern("the rent is #### a month"))
    found, model = ask([request], Limits(guess=False), decoder=decoder)
    assert [wanted for _, wanted in decoder.steps] == [1] * 4
    assert model.counters.forced == model.counters.written - 4
    assert decoder.steps[0][0] == len(INSTRUCTION) + len("the rent is ")
    assert found[0][5:7] == ("stopped", "")
    fixed, _ = ask([replace(request, constraint=Pattern("as agreed"))], Limits(), decoder=TinyDecoder())
    assert fixed[0][4:6] == ("as agreed", "stopped")


def test_what_is_copied_is_written_in_few_steps() -> None:
    (answer,) = [done for _, done in tiny_language_model().generate([Request(INSTRUCTION, 120)])]
    decoder = TinyDecoder()
    again, model = ask([Request(INSTRUCTION, 120, source=answer.ids)], Limits(), decoder=decoder)
    assert again[0] == facts(answer)
    assert model.counters.accepted > 60
    assert len(decoder.steps) < 60


class Same(TinyDecoder):
    """Writes the last token of its prompt for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.matrices[:] = 0
        self.places[:] = 0
        self.tokens /= np.linalg.norm(self.tokens, axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("spec", "stop", "repeats", "size", "finish"),
    [
        (None, (), 3, 48, "repeated"),
        (None, ("ddd",), 3, 3, "stopped"),
        (Pattern("no, " * 20), (), 3, 48, "repeated"),
        (Pattern("no, " * 12), (), 3, 48, "stopped"),  # it is over at the same place
        (Pattern("the rent is ### a month, as agreed"), ("month", "a mon"), 0, 21, "stopped"),
        (Pattern("**********"), ("dd d", "d"), 0, 1, "stopped"),
    ],
)  # fmt: skip
def test_what_ends_an_answer_beside_its_model(
    spec: Pattern | None, stop: tuple[str, ...], repeats: int, size: int, finish: str
) -> None:
    """Forced tokens, guesses and batches move no end."""
    request = Request(ids_of("and"), 60, spec, source=ids_of("d" * 20), stop=stop, repeats=repeats)
    expected = facts(Writer(Same(), Bytes.token_bytes, Bytes.end_ids, Form).answer(request))
    for limits in (Limits(), Limits(sequences=2, rows=1), Limits(guess=False, share=False)):
        found, _ = ask([request, *REQUESTS[:4], request], limits, decoder=Same())
        assert found[0] == found[-1] == expected
    assert (len(found[0][0][1]) // 4, found[0][5]) == (size, finish)


def test_choices_share_the_prompt_and_their_beginnings() -> None:
    decoder = TinyDecoder()
    choices = tuple(ids_of(text) for text in ("the rent", "the rental", "the deposit", "t", "other"))
    ask([Request(INSTRUCTION, 0, choices=choices)], Limits(), decoder=decoder)
    inner = {text[:end] for text in ("the rent", "the rental", "the deposit", "other") for end in range(1, len(text))}
    assert sum(count for count, _ in decoder.steps) == len(INSTRUCTION) + len(inner)
    assert sum(wanted for _, wanted in decoder.steps) == 1 + len(inner)


def test_an_end_token_ends_and_is_not_in_the_answer() -> None:
    """The end token gets the row of a token that would be written."""
    (free,) = [done for _, done in tiny_language_model().generate([Request(INSTRUCTION, 50)])]
    decoder = TinyDecoder()
    decoder.tokens[END] = decoder.tokens[free.ids[9]] * 2
    (found,) = [done for _, done in tiny_language_model(decoder=decoder).generate([Request(INSTRUCTION, 50)])]
    assert found.finish == "stopped"
    assert found.ids.tolist() == free.ids[: found.ids.size].tolist()
    assert 0 < found.ids.size <= 9
    assert END not in found.ids
