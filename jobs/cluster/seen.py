"""The workers of a cluster as a forecast counts with them."""

from __future__ import annotations

from dataclasses import dataclass

import pipeline


@dataclass(frozen=True)
class Seen:
    """The machines that would work on a run now, at the scheduler of that address. `problem`: why they are fewer than
    a site wants, or are those of the last run."""

    address: str
    machines: int
    problem: str | None = None


def see(cluster: pipeline.Cluster, before: int) -> Seen:
    """Look who would work on a run. `before` machines worked on the last one: they count where nobody can be asked."""
    try:
        members = pipeline.look_at_workers(cluster)
    except pipeline.MachineRefusedError as error:
        return Seen(cluster.scheduler, before, f"{error}; as many as in the last run are counted")
    ready = sum(member["state"] == "ready" for member in members)
    if not ready:
        told = "; ".join(f"{member['worker']}: {member['why']}" for member in members) or "none is listed"
        return Seen(cluster.scheduler, 1, f"no worker is ready ({told}): this machine would work alone")
    return Seen(cluster.scheduler, ready)
