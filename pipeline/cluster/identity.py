"""What a worker says of itself, and what a head demands of it before it sends a document."""

import math
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import engine
from pipeline.cluster.errors import BadWorkerError, WorkerRefusedError
from pipeline.cluster.wire import PROTOCOL
from pipeline.records.settings import label, software

CLOCKS_APART: Final = 300.0
"""Seconds that a worker's clock may differ: a certificate's dates and an operator's log would be read wrongly."""

_LINE, _FACTS_AT_MOST = 300, 50
_THREADS: Final = 1024  # of a worker, at most: it gets documents for each


@dataclass(frozen=True)
class Identity:
    """A worker: its machine, its software, and what it computes with. `memory` are bytes, `clock` is seconds since
    1970."""

    protocol: int
    worker: str
    host: str
    cpu: str
    isa: str
    threads: int
    memory: int
    numerics: str
    software: Mapping[str, str]
    clock: float

    def to_json(self) -> dict[str, Any]:
        """The message for it."""
        return asdict(self)


def own_identity(worker: str) -> Identity:
    """The identity of this process, as the worker of that name. engine.UnsupportedCpu."""
    machine = engine.look_at_machine()
    if machine.isa is None or machine.threads is None:
        raise engine.UnsupportedCpu(machine.refused or "the engine cannot run on this processor")
    return Identity(
        protocol=PROTOCOL,
        worker=worker,
        host=platform.node(),
        cpu=machine.cpu,
        isa=machine.isa,
        threads=machine.threads,
        memory=machine.memory,
        numerics=engine.NUMERICS,
        software=software(),
        clock=time.time(),
    )


def parse_identity(message: Mapping[str, Any]) -> Identity:
    """The identity in a worker's message. BadWorkerError."""
    kinds = {"protocol": int, "threads": int, "memory": int, "clock": float, "software": dict}
    try:
        made = {name: message[name] for name in Identity.__dataclass_fields__}
    except (KeyError, TypeError) as error:
        raise BadWorkerError(f"it does not say who it is: {error}") from error
    for name, value in made.items():
        if type(value) is not kinds.get(name, str):
            raise BadWorkerError(f"it says {name} as {value!r:.100}")
    if not 1 <= made["threads"] <= _THREADS:
        raise BadWorkerError(f"it says that it has {made['threads']} threads")
    facts = [value for value in made.values() if type(value) is not dict]
    for value in [*facts, *made["software"], *made["software"].values()]:
        if not is_fact(value):
            raise BadWorkerError(f"it says of itself {value!r:.100}")
    return Identity(**made)


def parse_readiness(message: Mapping[str, Any]) -> tuple[dict[str, str | int], dict[str, bool]]:
    """The facts of a worker's engine, and how its parsers are held, which go into the entry of each of its rows.
    BadWorkerError."""
    facts, isolation = message.get("engine"), message.get("isolation")
    if not isinstance(facts, dict) or len(facts) > _FACTS_AT_MOST or not all(map(is_fact, [*facts, *facts.values()])):
        raise BadWorkerError(f"it says of its engine {facts!r:.100}")
    if not isinstance(isolation, dict) or not (
        len(isolation) <= _FACTS_AT_MOST
        and all(type(name) is str and is_fact(name) for name in isolation)
        and all(type(value) is bool for value in isolation.values())
    ):
        raise BadWorkerError(f"it says of its parsers {isolation!r:.100}")
    return facts, isolation


def is_fact(value: object) -> bool:
    """Whether something is a fact as people are told it and the log keeps it: a number, or a short line."""
    if type(value) is float:
        return math.isfinite(value)
    return type(value) is int or (type(value) is str and len(value) <= _LINE and value.isprintable())


def check_worker(own: Identity, other: Identity) -> None:
    """WorkerRefusedError unless the worker computes what the head would."""
    if other.protocol != own.protocol:
        raise WorkerRefusedError(f"it speaks protocol {other.protocol}, the head {own.protocol}; {_SAME}")
    if other.numerics != own.numerics:
        raise WorkerRefusedError(f"its arithmetic is {other.numerics}, the head's {own.numerics}; {_SAME}")
    for fact, name in _FACTS.items():
        if (found := other.software.get(fact)) != (needed := own.software[fact]):
            told = f"{label(other.software)}, the head {label(own.software)}" if fact == "source_sha256" else ""
            raise WorkerRefusedError(f"{name} is {told or f'{found}, the head has {needed}'}; {_SAME}")
    if abs(apart := other.clock - own.clock) > CLOCKS_APART:
        raise WorkerRefusedError(
            f"its clock is {_hours(apart)} {'ahead of' if apart > 0 else 'behind'} the head's; set both by the "
            "building's time server"
        )


def check_memory(other: Identity, needed: int) -> None:
    """WorkerRefusedError where the worker could never hold the `needed` bytes of the model."""
    if 0 < other.memory < needed:
        raise WorkerRefusedError(
            f"it may take {other.memory / _GIB:.1f} GiB of memory, and the model alone has {needed / _GIB:.1f} GiB; "
            "choose a smaller model, or let it have more (MemoryMax of its unit)"
        )


_GIB: Final = 2**30
_SAME: Final = "install the same bundle on both"
_FACTS: Final = {
    "version": "its cloister",
    "source_sha256": "its software",
    "lock_sha256": "the digest of its packages",
    "python": "its Python",
}


def _hours(seconds: float) -> str:
    seconds = abs(seconds)
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.0f} minutes"
