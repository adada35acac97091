"""The exact log-probabilities of choices: a tree of their tokens, whose branches share what they begin with."""

from dataclasses import dataclass, field

import numpy as np

from engine.generate.answers.jobs import Job
from engine.generate.cache.sequence import Sequence
from engine.generate.request import F32, Ids, Request


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
