"""Requests in, completions out."""

import numpy as np
import pytest

from engine.generate.request import Completion, Request
from tests.language import TinyDecoder, ids_of, tiny_language_model

PROMPT = ids_of("The lease begins on 1 May.")


def ask(*requests: Request, **options: object) -> list[Completion]:
    return [completion for _, completion in sorted(tiny_language_model(**options).generate(requests))]


def test_an_answer() -> None:
    (found,) = ask(Request(PROMPT, 20))
    assert found.finish == "length" or found.ids.size < 20
    assert found.prompt_tokens == PROMPT.size
    assert found.ids.size == found.logprobs.size == len(found.offsets)
    assert (found.logprobs < 0).all()
    assert found.offsets.dtype == found.ids.dtype == np.int32
    begin, end = found.offsets[0]
    assert 0 <= begin <= end <= len(found.text)


def test_the_scores_of_choices_are_log_probabilities_of_what_follows() -> None:
    """Those of all single tokens add up to 1, and a choice of two is the product of both."""
    every = tuple(np.array([i], np.int32) for i in range(272))
    pairs = tuple(np.array([7, i], np.int32) for i in range(272))
    first, second = ask(Request(PROMPT, 0, choices=every), Request(PROMPT, 0, choices=pairs))
    assert np.exp(first.scores.astype(np.float64)).sum() == pytest.approx(1, abs=1e-5)
    assert np.exp(second.scores.astype(np.float64) - first.scores[7]).sum() == pytest.approx(1, abs=1e-5)
    assert first.finish == "stopped"
    assert first.ids.size == 0


def test_what_does_not_fit_fails_alone() -> None:
    good = Request(PROMPT, 5)
    bad = [
        (Request(PROMPT[:0], 5), "the prompt has no tokens"),
        (Request(np.array([3, 272], np.int32), 5), "found the token 272, expected one of 0 to 271"),
        (Request(PROMPT, 600), "the prompt has 26 tokens, and up to 600 may follow; the model takes 512"),
    ]
    found = ask(good, *(request for request, _ in bad), good)
    assert [item.finish for item in found[1:-1]] == ["failed"] * len(bad)
    assert [item.reason for item in found[1:-1]] == [reason for _, reason in bad]
    assert found[0].ids.tolist() == found[-1].ids.tolist() == ask(good)[0].ids.tolist()


def test_what_is_not_finite_fails_alone() -> None:
    decoder = TinyDecoder()
    decoder.tokens[9] = np.nan
    broken, sound = Request(np.array([1, 9], np.int32), 4), Request(PROMPT, 4, choices=(PROMPT[:1],))
    found = ask(broken, sound, decoder=decoder)
    assert {item.reason for item in found} == {"the model gives values that are not finite"}


def test_what_it_says_of_itself() -> None:
    model = tiny_language_model()
    assert model.context == 512
    assert model.facts == {"architecture": "tiny"}
    assert model.count_tokens(["", "é"]) == [0, 2]
    assert model.prompt([{"role": "user", "content": "a"}]).tolist() == [257, 97, 258]
