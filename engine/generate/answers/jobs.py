"""The jobs of the batch engine: each carries one request from its prompt to its completion."""

from collections.abc import Collection
from collections.abc import Sequence as Many

from engine.errors import EngineError
from engine.generate.answers.endings import Endings
from engine.generate.answers.guess import Guesser
from engine.generate.cache.sequence import Sequence
from engine.generate.constraint.spec import Constraint
from engine.generate.request import Finish, Ids, Request
from engine.kernels.choice import BROKEN, NONE

WHY = {NONE: "the constraint allows no token here", BROKEN: "the model gives values that are not finite"}


class Job:
    """A request under way. `finish` is set when it is done; `shared` when it has begun: the tokens of its prompt that
    had been computed. `sequences` are those that are still needed."""

    def __init__(self, index: int, request: Request) -> None:
        self.index, self.request = index, request
        self.finish: Finish | None = None
        self.reason, self.shared = "", -1
        self.ids, self.logprobs, self.scores = list[int](), list[float](), list[float]()
        self.sequences = list[Sequence]()

    def fail(self, reason: str) -> None:
        """Ends the job as failed. The tokens that were written until now stay in the completion."""
        self.finish, self.reason = "failed", reason


class Writing(Job):
    """Writes an answer. Where the constraint raises EngineError, so do its methods."""

    def __init__(
        self, index: int, request: Request, constraint: Constraint | None, ends: Collection[int],
        token_bytes: Many[bytes],
    ) -> None:  # fmt: skip
        super().__init__(index, request)
        self.constraint, self._ends, self.forced = constraint, ends, 0
        self._endings = Endings(request, token_bytes)
        self._end: Finish | None = None  # how the last token ended the answer
        self.sequence = Sequence(self, (index, 0), request.prompt, request.prompt.size - 1, request.limit)
        self.sequences = [self.sequence]
        self.guesser = Guesser(request.prompt if request.source is None else request.source)
        self._follow()

    def take(self, number: int, log: float) -> bool:
        """Appends the chosen token `number`; -log is its log-probability among the allowed tokens. Returns whether the
        logits after it have been computed already, so that the next one can be chosen at once."""
        sequence, constraint = self.sequence, self.constraint
        if number < 0:
            self.fail(WHY[number])
        elif number in self._ends:
            self.finish = "stopped"
        else:
            self._append(number, -log)
            if constraint:
                constraint.advance([number])
            self._follow()
        return self.finish is None and sequence.computed >= sequence.size

    def guess(self, rows: int, room: int) -> Ids:
        """Guesses at the next tokens, at most `room`, for a step that has so many rows without them. What is not
        allowed is not guessed; the last token of an answer needs no row."""
        sequence = self.sequence
        most = min(room, self.request.limit - len(self.ids) - 1)
        guesses = self.guesser.guess(sequence.ids, sequence.size, rows, most)
        if self.constraint and guesses.size:
            guesses = guesses[: self.constraint.check(guesses.tolist())]
        return guesses

    def _append(self, number: int, logprob: float) -> None:
        self.sequence.append(number)
        self.sequence.wanted = self.sequence.size - 1
        self.ids.append(number)
        self.logprobs.append(logprob)
        self._end = self._endings.after(self.ids)

    def _follow(self) -> None:
        """Takes what must follow, and sees whether this is the end."""
        constraint = self.constraint
        while constraint and not (constraint.is_over or self._end) and (forced := constraint.forced()):
            count = self._force(forced[: self.request.limit - len(self.ids)])
            constraint.advance(forced[:count])
            if count < len(forced):
                break
        if constraint and constraint.is_over:
            self.finish = "stopped"
        elif self._end:
            self.finish = self._end
        elif len(self.ids) == self.request.limit:
            self.finish = "length"

    def _force(self, forced: Many[int]) -> int:
        """Appends forced tokens until the answer ends. Returns how many were appended."""
        for count, number in enumerate(forced, 1):
            self._append(number, 0.0)
            self.forced += 1
            if self._end:
                return count
        return len(forced)


def check(request: Request, context: int, vocab: int, tokens: int) -> None:
    """Raise EngineError for a request that cannot be done at all, with pages for so many tokens."""
    if not request.prompt.size:
        raise EngineError("the prompt has no tokens")
    for ids in (request.prompt, *request.choices):
        if ids.size and not (ids.min() >= 0 and ids.max() < vocab):
            wrong = ids.max() if ids.max() >= vocab else ids.min()
            raise EngineError(f"found the token {wrong}, expected one of 0 to {vocab - 1}")
    if request.limit < 0:
        raise EngineError(f"found the limit {request.limit}, expected 0 or more")
    more = max((choice.size for choice in request.choices), default=request.limit)
    asked = f"the prompt has {request.prompt.size} tokens, and up to {more} may follow"
    if request.prompt.size + more > context:
        raise EngineError(f"{asked}; the model takes {context}")
    if request.prompt.size + more > tokens:
        raise EngineError(f"{asked}; the memory for keys and values (cache_mib) holds {tokens}")
