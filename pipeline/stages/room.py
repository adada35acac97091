"""The memory that a run takes at most."""

from dataclasses import dataclass
from typing import Final

import engine
from pipeline.answer.compute import BATCH_CHARACTERS
from pipeline.answer.converse import CHARACTERS
from pipeline.answer.models import writing_of
from pipeline.inbox.feed import AHEAD_BYTES
from pipeline.plan import RunPlan

_CHARACTER: Final = 4  # bytes of one in memory, at most


@dataclass(frozen=True)
class Memory:
    """The bytes that a run takes at most. `model`: its weights, which runs of the same model share; `texts`: of the
    documents that are read ahead, of a batch, beside the largest one, and of what workers have; `parsers`: what all
    parsers may take together; `cache`: keys and values of a model that writes, None where it takes half of what is
    free, and 0 for others."""

    model: int
    texts: int
    parsers: int
    cache: int | None


def memory_of(plan: RunPlan) -> Memory:
    """The memory of a plan's run, by its settings and the size of its model file. ModelRefusedError and OSError."""
    writing, limits = writing_of(plan), plan.site.limits
    cache = 0 if writing is None else writing.cache_mib and round(writing.cache_mib * 2**20)
    return Memory(
        plan.model.path.stat().st_size,
        AHEAD_BYTES + _CHARACTER * (CHARACTERS if writing else BATCH_CHARACTERS) + _under_way(plan),
        engine.threads() * limits.memory_bytes,
        cache,
    )


def _under_way(plan: RunPlan) -> int:
    """The bytes of texts that the workers of a cluster have, which the head keeps, and of the messages with them."""
    if plan.cluster is None:
        return 0
    from pipeline.cluster.sharing import CHARACTERS as AT_WORKERS

    return 2 * _CHARACTER * AT_WORKERS
