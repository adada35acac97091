"""A request to a language model, and its completion."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol

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
    a row at most before the answer is given up, 0: as often as it likes; endings.py says what counts.

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


@dataclass
class Counters:
    """requests: done, `failed` of them so. steps: calls of the decoder; rows: tokens it computed, `prompt_rows` of them
    of prompts. shared: prompt tokens that had been computed for another request. written: tokens of answers, `forced`
    of them without a choice. guessed: tokens that were tried ahead, `accepted` of them rightly. preempted: how often a
    request lost its pages. pages: in use, of all that there are."""

    requests: int = 0
    failed: int = 0
    steps: int = 0
    rows: int = 0
    prompt_rows: int = 0
    shared: int = 0
    written: int = 0
    forced: int = 0
    guessed: int = 0
    accepted: int = 0
    preempted: int = 0
    pages: int = 0


PAGE = 32
"""Tokens of a page."""

I32 = NDArray[np.int32]


class Sizes(Protocol):
    """context: positions of the longest sequence; vocab: numbers of tokens, which are logits of a row."""

    @property
    def context(self) -> int: ...
    @property
    def vocab(self) -> int: ...


class Forward(Protocol):
    """A decoder, as models/decoders makes it."""

    @property
    def shape(self) -> Sizes: ...

    def pages(self, count: int, kind: Any = ...) -> Any:
        """Keys and values of tokens for all layers, room for `count` pages of PAGE tokens, of `bytes_per_page` each;
        the system gives the memory as they are written. `copy(source, target)` copies a page."""

    def step(self, ids: I32, positions: I32, sequences: I32, tables: I32, pages: Any, wanted: I32) -> F32:
        """float32 [wanted, vocab]: the logits of the rows `wanted`, in order; others cost less. Row t is the token
        ids[t] at positions[t] of the sequence sequences[t]. Its key and value go to page tables[s, position // PAGE],
        slot position % PAGE, before anything attends, and it attends to the positions of its sequence up to its own.
        Rows of a sequence are one after another, in order. The bits of a row's logits depend on the ids of its
        sequence alone."""
