"""A request to a language model, and its completion."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.generate.constraint.spec import Spec

Ids = NDArray[np.int32]
F32 = NDArray[np.float32]
Finish = Literal["stopped", "length", "repeated", "failed"]


@dataclass(frozen=True, eq=False)
class Request:
    """prompt: int32 [n], at least one token. limit: tokens of the answer, at most. constraint: what the answer must be.
    source: int32, a text from which the answer may copy; guesses are looked up in it, and if it is None in the prompt.

    stop: texts of which the first to come ends the answer; it is still in it. repeats: how often a passage may stand in
    a row at most before the answer is given up, 0: as often as it likes; answers/endings.py says what counts.

    With `choices` nothing is written: each of them, int32, gets the log-probability with which it follows the prompt,
    and `limit` plays no part. A choice says itself whether it ends with an end token.
    """

    prompt: Ids
    limit: int
    constraint: Spec | None = None
    choices: tuple[Ids, ...] = ()
    source: Ids | None = None
    stop: tuple[str, ...] = ()
    repeats: int = 0


@dataclass(frozen=True, eq=False)
class Completion:
    """An answer. All but `shared_tokens` depends on the model's bytes and the request alone.

    ids: int32 [n], without the end token; text: what they stand for, U+FFFD for bytes that are no UTF-8; logprobs:
    float32 [n], the natural logarithm of each token's share among those that were allowed, 0 for those that had to
    follow; offsets: int32 [n, 2], the code points of `text` from and to which each token goes (some bytes of a
    character: the whole character).

    finish: `stopped` by an end token, by a text of `stop` or because the constraint was fulfilled, `length` by the
    request's limit or `repeated` because it said but the same, so that the answer is not whole, or `failed`, and then
    `reason` says why; what was written until then is kept.

    scores: float32, of each choice the sum of its tokens' log-probabilities among all tokens. prompt_tokens: of the
    prompt; shared_tokens: of those the ones that had been computed for another request.
    """

    ids: Ids
    text: str
    logprobs: F32
    offsets: Ids
    finish: Finish
    reason: str
    scores: F32
    prompt_tokens: int
    shared_tokens: int
