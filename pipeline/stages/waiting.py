"""What waits for a job, and what the log knows of the like: asked while no run of it goes on, or beside one."""

from collections.abc import Container
from dataclasses import replace

import engine
from pipeline.forecast.expected import File
from pipeline.inbox.discover import Scan
from pipeline.plan import RunPlan
from pipeline.records.costs.jobs import AllCosts
from pipeline.records.costs.kinds import Costs
from pipeline.records.register import Register
from pipeline.text.visible import shown


def waiting(scan: Scan, met: Container[str]) -> tuple[File, ...]:
    """The files that wait, in the order in which they are taken; without those that a job has `met` which leaves its
    documents where they are."""
    files = (File(each.path, each.size) for each in scan.ready)
    return tuple(file for file in files if not met or shown(file.path) not in met)


def model_of(plan: RunPlan, register: Register) -> str | None:
    """The sha256 of the plan's model, for whom a glance must do: a file that is not pinned is taken for the one that
    the log last saw under its name."""
    return plan.model.sha256 or register.models.get(plan.model.name)


def known_costs(plan: RunPlan, costs: AllCosts, register: Register) -> tuple[int, Costs] | None:
    """What documents of the job took with its model, by preference with as many threads as there are now; and with how
    many. Of a job that did not run with it yet, what those of the other job took that had most of them. None where
    nothing is known."""
    model, threads = model_of(plan, register), _threads()
    if model is None:
        return None
    its = costs.jobs.get(plan.job)
    if its and (own := its.of(model, threads)):
        return own
    others = [(name, found) for name, each in costs.jobs.items() if (found := each.of(model, threads))]
    best = max(others, key=lambda each: (each[1][0] == threads, each[1][1].rows), default=None)
    return None if best is None else (best[1][0], replace(best[1][1], of_job=best[0]))


def machines_of(plan: RunPlan, costs: AllCosts) -> int:
    """The machines that a run of the job would have, as far as the log knows: on a cluster, those that made the
    rows of its last run."""
    its = costs.jobs.get(plan.job)
    return its.hands if its and plan.cluster else 1


def _threads() -> int:
    """The threads that a run would have; 0 where the environment asks for what the machine does not have."""
    try:
        return engine.threads()
    except engine.UnsupportedCpu:
        return 0
