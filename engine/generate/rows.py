"""The rows of a step, as a decoder takes them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.generate.cache.sequence import Sequence
from engine.generate.forward import I32

I64 = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """ids, positions, slots, wanted: what `Forward.step` takes. Of each sequence of the plan: `asked`, how many of its
    rows are wanted, `at`, which logits are those of the first of these, and `ends`, up to where it is computed then."""

    ids: I32
    positions: I32
    slots: I32
    wanted: I32
    asked: I64
    at: I64
    ends: I64


def arrange(plan: Mapping[Sequence, int]) -> Rows:
    """Lays out the next tokens of each sequence, as many as the plan says, one sequence after another."""
    facts = np.array([(s.computed, count, s.wanted, s.slot) for s, count in plan.items()], np.int64)
    starts, counts, firsts, slots = facts.T
    ends = starts + counts
    firsts = np.maximum(firsts, starts)
    asked = np.maximum(ends - firsts, 0)
    rows, at = np.cumsum(counts) - counts, np.cumsum(asked) - asked
    ids = np.concatenate([s.ids[s.computed : s.computed + count] for s, count in plan.items()])
    positions = np.arange(ids.size) + np.repeat(starts - rows, counts)
    wanted = np.arange(asked.sum()) + np.repeat(rows + firsts - starts - at, asked)
    return Rows(
        ids, positions.astype(np.int32), np.repeat(slots, counts).astype(np.int32), wanted.astype(np.int32),
        asked, at, ends,
    )  # fmt: skip
