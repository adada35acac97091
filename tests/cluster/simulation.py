"""Nights of any size, simulated: the head's own rules for sharing (pipeline/cluster/sharing.py), and a clock of events.

A machine computes one group after another at a speed of its own, in characters a second, and a group takes a message
each way. Documents come back in any order and are committed in the order of the run, so that one that is late holds
the places of those behind it, as in a real run. A failing machine is lost with what it has, is missed for the time of
a heartbeat, and comes back some time later.

    python -m tests.cluster.simulation [--documents 1000000]
"""

import argparse
import heapq
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pipeline.cluster.sharing import CHARACTERS, Group, Sharing, places_for

CONTRACTS = 20_000.0  # characters a second of a machine of two cores: 5,400 contracts of 50,000 an hour, less the rest
SECONDS_OF_MESSAGE = 0.01
MISSED_SECONDS, AWAY_SECONDS = 20.0, 120.0


@dataclass
class Night:
    """What came of a simulated night. `bound` is the time in which the machines, as long as they were there, could have
    computed everything, and what was lost with them a second time. `places` and `characters`: the most that were under
    way at a time."""

    makespan: float = 0.0
    bound: float = 0.0
    messages: int = 0
    places: int = 0
    characters: int = 0
    lost: int = 0
    again: int = 0

    @property
    def over(self) -> float:
        """How much longer it took than if no machine had ever waited."""
        return self.makespan / self.bound - 1


@dataclass
class _Machine:
    name: str
    speed: float
    free: float = 0.0  # when it has computed all that it has
    left: list[float] = field(default_factory=list)  # when it was lost, each time
    here: bool = True
    has: dict[int, float] = field(default_factory=dict)  # group -> when it comes back


class _Simulation:
    def __init__(self, speeds: Sequence[float], sizes: Sequence[int], failing: float, seed: int) -> None:
        self.random, self.failing, self.sizes = random.Random(seed), failing, sizes
        self.machines = {f"m{i}": _Machine(f"m{i}", speed) for i, speed in enumerate(speeds)}
        self.sharing, self.night = Sharing(), Night()
        self.events: list[tuple[float, int, str, str, int]] = []  # when, number, what, machine, group
        self.over, self.first, self.count, self.characters, self.number = set[int](), 0, 0, 0, 0
        self.wasted = 0

    def run(self) -> Night:
        now = 0.0
        self.ask(now)
        while self.first < len(self.sizes):
            now, _, what, name, group = heapq.heappop(self.events)
            machine = self.machines[name]
            if what == "back" and machine.here and group in machine.has:
                self.back(machine, group, now)
            elif what == "missed":
                self.sharing.lost(name)
            elif what == "returns":
                machine.here, machine.free = True, now
            self.ask(now)
        self.night.makespan = now
        away = {name: sum(min(AWAY_SECONDS, now - left) for left in m.left) for name, m in self.machines.items()}
        speeds = sum(machine.speed * (1 - away[name] / now) for name, machine in self.machines.items())
        self.night.bound = (sum(self.sizes) + self.wasted) / speeds
        return self.night

    def back(self, machine: _Machine, group: int, now: float) -> None:
        """A group comes back, or its machine is lost with it."""
        del machine.has[group]
        if self.random.random() < self.failing:
            self.night.lost += 1
            if group in self.sharing.groups:
                self.wasted += self.sharing.groups[group].size  # of the one behind it nothing was computed yet
            machine.here = False
            machine.left.append(now)
            machine.has.clear()
            self.push(now + MISSED_SECONDS, "missed", machine.name)
            self.push(now + AWAY_SECONDS, "returns", machine.name)
            return
        known = self.sharing.groups.get(group)
        self.night.messages += 1
        if not self.sharing.done(machine.name, group, now) or known is None:
            self.night.again += 1
            return
        self.over.update(piece.number for piece in known.pieces)
        self.characters -= known.size
        while self.first in self.over:
            self.over.remove(self.first)
            self.first += 1

    def ask(self, now: float) -> None:
        """Take documents in, and give machines what they should have."""
        self.take_in()
        here = [machine for machine in self.machines.values() if machine.here]
        for machine in sorted(here, key=lambda one: -self.sharing.speeds.get(one.name, 0.0)):
            more = self.count < len(self.sizes)
            while group := self.sharing.next_for(machine.name, len(here), now, more=more):
                self.give(machine, group, now)

    def take_in(self) -> None:
        room = places_for(sum(machine.here for machine in self.machines.values()))
        while self.count < len(self.sizes) and self.count - self.first < room and self.characters < CHARACTERS:
            self.sharing.add(self.count, self.sizes[self.count])
            self.characters += self.sizes[self.count]
            self.count += 1
        self.night.places = max(self.night.places, self.count - self.first)
        self.night.characters = max(self.night.characters, self.characters)

    def give(self, machine: _Machine, group: Group, now: float) -> None:
        machine.free = max(machine.free, now + SECONDS_OF_MESSAGE) + group.size / machine.speed
        machine.has[group.name] = machine.free
        self.night.messages += 1
        self.push(machine.free + SECONDS_OF_MESSAGE, "back", machine.name, group.name)

    def push(self, when: float, what: str, name: str, group: int = 0) -> None:
        self.number += 1
        heapq.heappush(self.events, (when, self.number, what, name, group))


def sizes_of(count: int, seed: int) -> list[int]:
    """Lengths of documents as contracts have them: log-normal, median 33,000 characters, a few of a million."""
    rng = random.Random(seed)
    return [max(500, min(2_000_000, int(rng.lognormvariate(10.4, 0.9)))) for _ in range(count)]


def speeds_of(count: int, seed: int) -> list[float]:
    """Machines that are not alike: the slowest has a fifth of the fastest one's speed."""
    rng = random.Random(seed)
    return [CONTRACTS * rng.choice((0.5, 1.0, 1.0, 1.0, 2.5)) for _ in range(count)]


def simulate(machines: int, documents: int, failing: float = 0.0, seed: int = 1) -> Night:
    """A night; `failing`: the share of groups with which their machine is lost."""
    return _Simulation(speeds_of(machines, seed), sizes_of(documents, seed), failing, seed).run()


def _lines(documents: int) -> Iterator[str]:
    yield "machines  lost  hours  over bound  messages/s  MB under way  documents"
    for machines in (4, 40, 400):
        for failing in (0.0, 0.01):
            night = simulate(machines, documents, failing)
            yield (
                f"{machines:>8} {night.lost:>5} {night.makespan / 3600:>6.2f} {night.over:>11.2%} "
                f"{night.messages / night.makespan:>11.2f} {night.characters / 1e6:>13.0f} {night.places:>10,}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=1_000_000)
    for line in _lines(parser.parse_args().documents):
        print(line, flush=True)
