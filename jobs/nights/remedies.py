"""What would let a job be done tonight, as far as figures say it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import pipeline
from jobs.nights.ahead import Ahead

_DAY: Final = timedelta(days=1)  # a window is shorter


@dataclass(frozen=True)
class Remedy:
    """One way, by its kind (window, threads, model, machines), in a sentence. `measured`: by what documents of the job
    took that way; else it is the most that can be hoped for, or stands to be measured."""

    kind: str
    sentence: str
    measured: bool


def remedies(
    plan: pipeline.RunPlan, ahead: Ahead, its: pipeline.JobCosts, register: pipeline.Register
) -> Iterator[Remedy]:
    """Yield what would let the next run be done with all that waits; nothing where it will be, or nothing is known."""
    told, until = ahead.outlook, ahead.until
    if told is None or ahead.known is None or until is None or ahead.all_tonight:
        return
    left = (until - ahead.start).total_seconds() - told.ready
    ends = datetime.fromtimestamp(ahead.start.timestamp() + told.ready + told.seconds, ahead.start.tzinfo)
    if ends - ahead.start < _DAY:
        yield Remedy("window", f"a window until {ends:%a %H:%M}, if that is no other job's time", measured=True)
    yield from _threads(ahead, its, pipeline.model_of(plan, register), left)
    yield from _models(plan, ahead, its, register)
    if told.slowest and 0 < left >= told.slowest[1].seconds:
        machines = math.ceil(told.seconds * ahead.machines / left)
        like = "machines like this one" if plan.cluster is None else f"workers instead of {ahead.machines}"
        yield Remedy("machines", f"{machines} {like}, each with its share of the documents", measured=True)


def _fits(ahead: Ahead, costs: pipeline.Costs) -> datetime | None:
    """When all would be done at these costs, if that is before the window ends."""
    assert ahead.until is not None
    span = pipeline.Span(ahead.start.timestamp(), ahead.until.timestamp())
    at = pipeline.outlook(ahead.files, costs, [span], machines=ahead.machines).done_at
    return None if at is None else datetime.fromtimestamp(at, ahead.start.tzinfo)


def _threads(ahead: Ahead, its: pipeline.JobCosts, model: str | None, left: float) -> Iterator[Remedy]:
    assert ahead.known is not None
    assert ahead.outlook is not None
    now, cpus = ahead.known[0], len(os.sched_getaffinity(0))
    for (other, threads), costs in its.machines.items():
        if other == model and threads > now and costs.runs and (at := _fits(ahead, costs)):
            yield Remedy("threads", f"{threads} threads, as earlier runs had them: done {at:%a %H:%M}", measured=True)
            return
    if 0 < now < cpus and ahead.outlook.seconds * now / cpus <= left:
        said = f"all {cpus} CPUs instead of {now} (CLOISTER_THREADS), at best: that was not measured here"
        yield Remedy("threads", said, measured=False)


def _models(
    plan: pipeline.RunPlan, ahead: Ahead, its: pipeline.JobCosts, register: pipeline.Register
) -> Iterator[Remedy]:
    """Other models of the workspace that this job ran with, and were fast enough; else a smaller one of that kind."""
    own, there = plan.model.path, {path.stem: path for path in sorted(plan.site.models.glob("*.gguf"))}
    measured = {model: costs for (model, _), costs in its.machines.items() if costs.runs}
    known = {name: measured[sha256] for name, sha256 in register.models.items() if name in there and sha256 in measured}
    for name, costs in known.items():
        if name != plan.model.name and (at := _fits(ahead, costs)):
            yield Remedy("model", f"the model {name}, by what this job took with it: done {at:%a %H:%M}", measured=True)
            return
    size = own.stat().st_size
    smaller = [name for name in there if name not in known and there[name].stat().st_size < size]
    other = next((name for name in smaller if pipeline.same_use(own, there[name])), None)
    if other is not None:
        share = there[other].stat().st_size / size
        measured_by = f"cloister qualify {plan.job} --eval FILE --model {other}"
        said = f"the model {other}, whose file has {share:.0%} of this one's size; how fast and how good it is says"
        yield Remedy("model", f"perhaps {said} {measured_by}", measured=False)
