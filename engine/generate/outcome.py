"""The use of a step's logits: the next tokens of answers are chosen, and choices are scored."""

from collections.abc import Sequence as Many

import numpy as np
from numpy.typing import NDArray

from engine.errors import EngineError
from engine.generate.constraint.spec import Makes
from engine.generate.jobs import WHY, Scoring, Writing
from engine.generate.kv import Sequence
from engine.generate.request import F32, Counters
from engine.kernels.choice import choose

U32 = NDArray[np.uint32]
_NO_MASKS = np.zeros((0, 1), np.uint32)
_MANY = 4  # masks from which threads are worth their start


def write(logits: F32, jobs: Many[tuple[Writing, int]], makes: Makes, counters: Counters) -> None:
    """Each job takes the next token of its answer from the row of logits with this number; where that token was guessed
    rightly, it takes one more from the following row, and so on. Counts what was written, forced and guessed."""
    before = [(job, job.sequence.size, len(job.ids), job.forced) for job, _ in jobs]
    active = list(jobs)
    while active:
        active = _round(logits, active, makes)
    for job, size, written, forced in before:
        counters.written += len(job.ids) - written
        counters.forced += job.forced - forced
        if guessed := job.sequence.guesses:
            right = min(job.sequence.computed, job.sequence.size) - size
            counters.guessed += guessed
            counters.accepted += right
            job.guesser.learn(guessed, right)
            job.sequence.guesses = 0


def _round(logits: F32, jobs: list[tuple[Writing, int]], makes: Makes) -> list[tuple[Writing, int]]:
    """Chooses one token for each job. Returns the jobs that can take another one at once, with their rows of logits."""
    masks, of = _masks([job for job, _ in jobs], makes)
    chosen = choose(logits, np.array([at for _, at in jobs], np.int64), masks, of)
    again = []
    for (job, at), number, log in zip(jobs, chosen.ids.tolist(), chosen.logs.tolist(), strict=True):
        size = job.sequence.size
        try:
            if job.finish is None and job.take(number, log):
                again.append((job, at + job.sequence.size - size))
        except EngineError as error:  # of the constraint
            job.fail(str(error))
    return again


def _masks(jobs: Many[Writing], makes: Makes) -> tuple[U32, NDArray[np.int64]]:
    """uint32 [m, words], and for each job the number of its row, -1 where everything is allowed. A job whose constraint
    gives up has failed, and its row is another's."""
    held = [job for job in jobs if job.constraint is not None]
    of = np.full(len(jobs), -1, np.int64)
    of[[job.constraint is not None for job in jobs]] = np.arange(len(held))
    if not held:
        return _NO_MASKS, of
    if len(held) >= _MANY:
        try:
            return makes.masks([job.constraint for job in held]), of
        except EngineError:  # of one of them: which one?
            pass
    return _one_by_one(held), of


def _one_by_one(jobs: list[Writing]) -> U32:
    found: list[U32 | None] = []
    for job in jobs:
        try:
            found.append(job.constraint.mask() if job.constraint else None)
        except EngineError as error:
            job.fail(str(error))
            found.append(None)
    some = next((mask for mask in found if mask is not None), np.zeros(1, np.uint32))
    return np.stack([np.zeros_like(some) if mask is None else mask for mask in found])


def score(logits: F32, asked: Many[tuple[Sequence, Scoring, int, int]]) -> list[tuple[Sequence, list[Sequence]]]:
    """Scores choices. `asked`: sequence, job, first row of its logits, how many rows. Returns the sequences that are
    done, each with the sequences that begin with it."""
    rows = np.concatenate([np.arange(at, at + count) for _, _, at, count in asked])
    chosen = choose(logits, rows, _NO_MASKS, np.full(rows.size, -1))
    each = iter(zip(rows.tolist(), chosen.ids.tolist(), chosen.tops.tolist(), chosen.logs.tolist(), strict=True))
    done = []
    for sequence, job, _, count in asked:
        children = list[Sequence]()
        for position in range(sequence.wanted, sequence.wanted + count):
            row, number, top, log = next(each)
            if number < 0:
                job.fail(WHY[number])
            elif job.finish is None:
                children = job.take(sequence, position, logits[row], top, log)
        if sequence.wanted == sequence.size:
            done.append((sequence, children))
    return done
