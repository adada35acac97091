"""What a language model answers, by definition: one request after another, one token after another, each time from
the first token on, with pages of its own."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from engine.errors import EngineError
from engine.generate.constraint.spec import Constraint, Spec
from engine.generate.endings import EVERY, LEAST, LONGEST, detokenize
from engine.generate.request import F32, PAGE, Completion, Finish, Forward, Ids, Request
from engine.kernels.choice import BROKEN, NONE, choose

Make = Callable[[Spec], Constraint]
_WHY = {
    NONE: "the constraint allows no token here",
    BROKEN: "the model gives values that are not finite",
}


class Writer:
    def __init__(self, decoder: Forward, token_bytes: Sequence[bytes], end_ids: Iterable[int], make: Make) -> None:
        self._decoder, self._bytes, self._ends, self._make = decoder, token_bytes, frozenset(end_ids), make
        self._known: Ids = np.zeros(0, np.int32)

    def answer(self, request: Request) -> Completion:
        return self._weigh(request) if request.choices else self._write(request)

    def _logits(self, ids: Sequence[int] | Ids, wanted: int) -> F32:
        """float32 [wanted, vocab], those after the last tokens. What the last call had is not computed again."""
        ids = np.array(ids, np.int32)
        if self._known.size == 0 or not np.array_equal(ids[: self._known.size], self._known):
            self._pages, self._known = self._decoder.pages(-(-self._decoder.shape.context // PAGE)), ids[:0]
        begin = min(self._known.size, ids.size - wanted)
        rows = np.arange(begin, ids.size, dtype=np.int32)
        table = np.arange(-(-ids.size // PAGE), dtype=np.int32)[None]
        last = np.arange(rows.size - wanted, rows.size, dtype=np.int32)
        self._known = ids
        return self._decoder.step(ids[begin:], rows, np.zeros_like(rows), table, self._pages, last)

    def _weigh(self, request: Request) -> Completion:
        scores = []
        for choice in request.choices:
            logits = self._logits([*request.prompt, *choice[:-1]], max(1, choice.size))
            rows = np.arange(choice.size)
            found = choose(logits, rows, np.zeros((0, 1), np.uint32), np.full(rows.size, -1))
            if (found.ids < 0).any():
                return self._done(request, [], [], "failed", _WHY[BROKEN])
            scores.append(float(sum(logits[rows, choice].astype(np.float64) - found.tops - found.logs)))
        return self._done(request, [], [], "stopped", "", scores)

    def _write(self, request: Request) -> Completion:
        ids: list[int] = []
        logprobs: list[float] = []
        try:
            constraint = self._make(request.constraint) if request.constraint is not None else None
            finish, reason = self._extend(request, constraint, ids, logprobs)
        except EngineError as error:
            finish, reason = "failed", str(error)
        return self._done(request, ids, logprobs, finish, reason)

    def _extend(
        self, request: Request, constraint: Constraint | None, ids: list[int], logprobs: list[float]
    ) -> tuple[Finish, str]:
        while True:
            if constraint and constraint.is_over:
                return "stopped", ""
            if ids and (ended := _ended(request, ids, self._bytes)):
                return ended, ""
            if len(ids) == request.limit:
                return "length", ""
            forced = constraint.forced()[:1] if constraint else []
            number, logprob = (forced[0], 0.0) if forced else self._next(np.array([*request.prompt, *ids]), constraint)
            if number < 0:
                return "failed", _WHY[number]
            if number in self._ends:
                return "stopped", ""
            if constraint:
                constraint.advance([number])
            ids.append(number)
            logprobs.append(logprob)

    def _next(self, ids: Ids, constraint: Constraint | None) -> tuple[int, float]:
        logits = self._logits(ids, 1)
        masks = constraint.mask()[None] if constraint else np.zeros((0, 1), np.uint32)
        found = choose(logits, np.zeros(1, np.int64), masks, np.full(1, 0 if constraint else -1))
        return int(found.ids[0]), -float(found.logs[0])

    def _done(
        self, request: Request, ids: list[int], logprobs: list[float], finish: Finish, reason: str,
        scores: Sequence[float] = (),
    ) -> Completion:  # fmt: skip
        text, offsets = detokenize(ids, self._bytes)
        return Completion(
            np.array(ids, np.int32), text, np.array(logprobs, np.float32), offsets, finish, reason,
            np.array(scores, np.float32), request.prompt.size, 0,
        )  # fmt: skip


def _ended(request: Request, ids: Sequence[int], token_bytes: Sequence[bytes]) -> Finish | None:
    """How an answer in words, no numbers and no JSON, ends that its model goes on with."""
    text = b"".join(token_bytes[number] for number in ids).decode(errors="ignore")
    if request.stop and is_decided(text, request.stop):
        return "stopped"
    return "repeated" if request.repeats and len(ids) % EVERY == 0 and says_again(ids, request.repeats) else None


def is_decided(text: str, stops: Sequence[str]) -> bool:
    """Whether the first place of a text of `stops` is the same however the text goes on. Without bytes that are no
    UTF-8."""
    found = [text.find(stop) for stop in stops if stop in text]
    return bool(found) and not any(stop.startswith(text[at:]) for at in range(min(found)) for stop in stops)


def says_again(ids: Sequence[int], times: int) -> bool:
    """Whether a passage stands at the end of ids so many times in a row."""
    for period in range(1, LONGEST + 1):
        tokens = times * max(period, LEAST)
        last = ids[-tokens:]
        if len(last) == tokens and all(last[i] == last[i + period] for i in range(tokens - period)):
            return True
    return False
