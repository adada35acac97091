"""The workers of a cluster as a forecast counts with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pipeline


@dataclass(frozen=True)
class Seen:
    """The machines that would work on a run now, at the scheduler of that address. `problem`: why they are fewer than
    a site wants, or are those of the last run."""

    address: str
    machines: int
    problem: str | None = None


Found = Sequence[Mapping[str, Any]] | str
"""The workers that are listed; or why nobody can be asked."""


def ask(cluster: pipeline.Cluster) -> Found:
    """Ask who is listed."""
    try:
        return pipeline.look_at_workers(cluster)
    except pipeline.MachineRefusedError as error:
        return str(error)


def see(cluster: pipeline.Cluster, found: Found, before: int) -> Seen:
    """Who of those that were found would work on a run. `before` machines worked on the job's last one: they count
    where nobody can be asked."""
    if isinstance(found, str):
        return Seen(cluster.scheduler, before, f"{found}; as many as in the last run are counted")
    ready = sum(member["state"] == "ready" for member in found)
    told = "; ".join(f"{member['worker']}: {member['why']}" for member in found if member["state"] != "ready")
    if not ready:
        why = f"no worker is ready ({told or 'none is listed'}): this machine would work alone"
        return Seen(cluster.scheduler, 1, why)
    return Seen(cluster.scheduler, ready, f"not counted: {told}" if told else None)
