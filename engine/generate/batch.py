"""Requests in, completions out."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from engine.errors import EngineError
from engine.generate.constraint import Constraint, Spec
from engine.generate.counters import Counters
from engine.generate.forward import PAGE, Forward
from engine.generate.request import F32, Completion, Finish, Ids, Request
from engine.generate.spelling import spell
from engine.kernels.choice import BROKEN, NONE, choose

Make = Callable[[Spec], Constraint]
_WHY = {
    NONE: "the constraint allows no token here",
    BROKEN: "the model gives values that are not finite",
}


class Batch:
    """One request after another, one token a step."""

    def __init__(self, decoder: Forward, token_bytes: Sequence[bytes], end_ids: Iterable[int], make: Make) -> None:
        self._decoder, self._bytes, self._ends, self._make = decoder, token_bytes, frozenset(end_ids), make
        self.counters = Counters()

    def run(self, requests: Iterable[Request]) -> Iterator[tuple[int, Completion]]:
        for index, request in enumerate(requests):
            if reason := self._refuse(request):
                yield index, self._done(request, [], [], "failed", reason)
            elif request.choices:
                yield index, self._weigh(request)
            else:
                yield index, self._write(request)

    def _refuse(self, request: Request) -> str:
        ids = np.concatenate([request.prompt, *request.choices])
        if not request.prompt.size:
            return "the prompt has no tokens"
        if ids.min() < 0 or ids.max() >= self._decoder.shape.vocab:
            return f"found the token {ids.max()}, expected one below {self._decoder.shape.vocab}"
        more = max((choice.size for choice in request.choices), default=request.limit)
        if request.prompt.size + more > self._decoder.shape.context:
            return f"{request.prompt.size} tokens and up to {more} more, the model takes {self._decoder.shape.context}"
        return ""

    def _logits(self, ids: Sequence[int] | Ids) -> F32:
        """float32 [n, vocab]."""
        n = len(ids)
        pages = self._decoder.pages(-(-n // PAGE))
        table, rows = np.arange(-(-n // PAGE), dtype=np.int32)[None], np.arange(n, dtype=np.int32)
        self.counters.steps += 1
        self.counters.rows += n
        return self._decoder.step(np.array(ids, np.int32), rows, np.zeros(n, np.int32), table, pages, rows)

    def _weigh(self, request: Request) -> Completion:
        scores = []
        for choice in request.choices:
            logits = self._logits([*request.prompt, *choice])
            rows = np.arange(request.prompt.size - 1, request.prompt.size - 1 + choice.size)
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
            for number in constraint.forced() if constraint else []:
                if len(ids) == request.limit:
                    return "length", ""
                constraint.advance([number])  # type: ignore[union-attr]
                ids.append(number)
                logprobs.append(0.0)
            if constraint and constraint.is_over:
                return "stopped", ""
            if len(ids) == request.limit:
                return "length", ""
            number, logprob = self._next(np.array([*request.prompt, *ids]), constraint)
            if number < 0:
                return "failed", _WHY[number]
            if number in self._ends:
                return "stopped", ""
            if constraint:
                constraint.advance([number])
            ids.append(number)
            logprobs.append(logprob)

    def _next(self, ids: Ids, constraint: Constraint | None) -> tuple[int, float]:
        logits = self._logits(ids)[-1:]
        masks = constraint.mask()[None] if constraint else np.zeros((0, 1), np.uint32)
        found = choose(logits, np.zeros(1, np.int64), masks, np.full(1, 0 if constraint else -1))
        return int(found.ids[0]), -float(found.logs[0])

    def _done(
        self, request: Request, ids: list[int], logprobs: list[float], finish: Finish, reason: str,
        scores: Sequence[float] = (),
    ) -> Completion:  # fmt: skip
        text, offsets = spell(ids, self._bytes)
        self.counters.requests += 1
        self.counters.failed += finish == "failed"
        return Completion(
            np.array(ids, np.int32), text, np.array(logprobs, np.float32), offsets, finish, reason,
            np.array(scores, np.float32), request.prompt.size, 0,
        )  # fmt: skip
