"""Documents answered by a model with a head or without, by the code of a run, with the time and memory it took."""

import gc
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.answer.memory import give_back_freed
from pipeline.answer.models import answerer, load_model
from pipeline.inbox.order import Work
from pipeline.plan import RunPlan
from pipeline.quality.reading import Progress

Row = dict[str, Any]


@dataclass(frozen=True)
class Answered:
    """A row for each document, in order; the tokens that were computed, the seconds it took without loading the model,
    and the greatest memory of this process in bytes while it did (pages of the model file among them; None where the
    system does not tell)."""

    rows: tuple[Row, ...]
    tokens: int
    seconds: float
    peak_bytes: int | None


def answer(plan: RunPlan, model_sha256: str, works: Sequence[Work], progress: Progress) -> Answered:
    """Answer the documents as a run of the plan does. ModelRefusedError."""
    give_back_freed()
    gc.collect()  # what was loaded before is no part of this model's memory
    told = _reset_peak()
    model = load_model(plan, model_sha256, lambda fact: progress(0, len(works), fact))
    answers = answerer(plan, model)
    rows = list[Row]()
    begun = time.perf_counter()
    review = plan.input.hidden == "review"
    for group in answers(works, lambda done, total: None, review_hidden=review):
        rows += [row for _, row in group if row is not None]
        progress(len(rows), len(works), f"answering on {plan.model.name}")
    seconds = time.perf_counter() - begun
    tokens = sum(row.get("tokens") or 0 for row in rows)
    return Answered(tuple(rows), tokens, seconds, _peak() if told else None)


def _reset_peak() -> bool:
    """Let the system begin anew to count the greatest memory of this process (proc(5), clear_refs); whether it does."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak() -> int | None:
    """VmHWM: the greatest resident memory in bytes, of proc(5), status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return None
