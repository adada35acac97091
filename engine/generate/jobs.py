"""The jobs of the batch engine: each carries one request from its prompt to its completion."""

from collections.abc import Collection
from collections.abc import Sequence as Many
from dataclasses import dataclass, field

import numpy as np

from engine.errors import EngineError
from engine.generate.constraint.spec import Constraint
from engine.generate.endings import Endings
from engine.generate.guess import Guesser
from engine.generate.kv import Sequence
from engine.generate.request import F32, Finish, Ids, Request
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


@dataclass
class Branch:
    """A token of one or more choices after those before it; score: ln of their probability together."""

    score: float = 0.0
    after: dict[int, "Branch"] = field(default_factory=dict)

    @property
    def asks(self) -> bool:
        """Whether logits after its token are wanted."""
        return bool(self.after)


class Scoring(Job):
    """A job that computes the log-probability of each choice of a request."""

    def __init__(self, index: int, request: Request) -> None:
        super().__init__(index, request)
        self._root = Branch()
        self._ends = [self._grow(choice.tolist()) for choice in request.choices]
        self._at: dict[Sequence, dict[int, Branch]] = {}  # of each sequence the positions whose logits are wanted
        self._made = 0
        if self._root.asks:
            self._start(request.prompt, [], self._root)
        self._end()

    def _grow(self, choice: list[int]) -> Branch:
        branch = self._root
        for number in choice:
            branch = branch.after.setdefault(number, Branch())
        return branch

    def _start(self, ids: Ids, more: list[int], branch: Branch) -> Sequence:
        """A sequence of `ids`, which end before `branch` or with it, then of its token and those after it until they
        fork; logits are wanted from `branch` on."""
        first = ids.size - 1 + len(more)
        wanted = {first: branch}
        more = list(more)
        while len(branch.after) == 1:
            number, branch = next(iter(branch.after.items()))
            if not branch.asks:
                break
            more.append(number)
            wanted[ids.size - 1 + len(more)] = branch
        sequence = Sequence(self, (self.index, self._made), np.concatenate([ids, np.array(more, np.int32)]), first)
        self._made += 1
        self._at[sequence] = wanted
        self.sequences.append(sequence)
        return sequence

    def take(self, sequence: Sequence, position: int, logits: F32, top: float, log: float) -> list[Sequence]:
        """Adds up scores: `logits` float32 [vocab] are those after `position`, `top` is their greatest, `log` is ln of
        the sum of e**(logit - top). Returns the sequences that can be computed next."""
        branch = self._at[sequence][position]
        sequence.wanted = position + 1
        for number, child in branch.after.items():
            child.score = branch.score + (float(logits[number]) - top - log)
        if position + 1 < sequence.size:
            return []
        self.sequences.remove(sequence)
        del self._at[sequence]
        ids = sequence.ids[: sequence.size]
        children = [self._start(ids, [number], child) for number, child in branch.after.items() if child.asks]
        self._end()
        return children

    def _end(self) -> None:
        if not self.sequences:
            self.scores = [branch.score for branch in self._ends]
            self.finish = "stopped"
