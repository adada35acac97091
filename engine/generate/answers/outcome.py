"""What follows from the logits of a step: tokens that are chosen, and choices that are weighed."""

from collections.abc import Sequence as Many

import numpy as np

from engine.errors import EngineError
from engine.generate.answers.jobs import WHY, Writing
from engine.generate.answers.masks import masks_of
from engine.generate.answers.scoring import Weighing
from engine.generate.cache.sequence import Sequence
from engine.generate.constraint.spec import Makes
from engine.generate.counters import Counters
from engine.generate.forward import F32
from engine.kernels.choice import choose

_NO_MASKS = np.zeros((0, 1), np.uint32)


def write(logits: F32, jobs: Many[tuple[Writing, int]], makes: Makes, counters: Counters) -> None:
    """Each job takes the next token of its answer by the logits with this number, and where it was guessed rightly the
    one after it by the following ones, and so on."""
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
            job.learn(guessed, right)
            job.sequence.guesses = 0


def _round(logits: F32, jobs: list[tuple[Writing, int]], makes: Makes) -> list[tuple[Writing, int]]:
    """One token of each job; those that can take another one at once, each with the number of its logits."""
    masks, of = masks_of([job for job, _ in jobs], makes)
    chosen = choose(logits, np.array([at for _, at in jobs], np.int64), masks, of)
    again = []
    for (job, at), number, log in zip(jobs, chosen.ids.tolist(), chosen.logs.tolist(), strict=True):
        size = job.sequence.size
        if job.finish is None and _takes(job, number, log):
            again.append((job, at + job.sequence.size - size))
    return again


def _takes(job: Writing, number: int, log: float) -> bool:
    try:
        return job.take(number, log)
    except EngineError as error:  # of the constraint
        job.fail(str(error))
        return False


def weigh(logits: F32, asked: Many[tuple[Sequence, Weighing, int, int]]) -> list[tuple[Sequence, list[Sequence]]]:
    """Weighs the choices of jobs by the logits of a sequence from this number on, so many. The sequences that are done,
    and those that begin with them."""
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
