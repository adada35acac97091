"""The process of a command is held away from networks before it loads anything: its Python by the guard, its native
code and all that it starts by the kernel.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pipeline
from jobs.silence.clients import keep_out
from jobs.silence.guard import is_watching, watching
from jobs.silence.outside import has_outside, stay_outside

TRACED: Final = "CLOISTER_TRACED"
"""The environment variable by which a tracer says that it has the network's calls of a process."""
_CALLS_OUT: Final = frozenset({"run", "retry", "rerun", "serve", "console"})
"""The commands that start what is the site's own: notify, and what a person starts in the console."""
_COMPUTES: Final = frozenset(
    {"run", "retry", "rerun", "serve", "learn", "qualify", "bench", "audit replay", "model verify"}
)
"""The commands that compute, in whose process no client can be imported."""
_ABOUT_PEOPLE: Final = frozenset({"invite", "people", "revoke"})
"""What `console` does without listening."""
_CONNECTS: Final = "bundle create"
"""The one command for a connected machine: the kernel does not hold it, for it has pip fetch wheels."""


@dataclass
class _Sealed:
    """How native code of this process is held: "refused", "traced" or "free"."""

    calls: str = "free"


_sealed = _Sealed()


@contextlib.contextmanager
def silenced(arguments: Sequence[str], *, own_process: bool) -> Iterator[None]:
    """Guard a command as long as it lasts; where the process is its own, have the kernel hold that, for good."""
    command, both = " ".join(arguments[:1]), " ".join(arguments[:2])
    with watching():
        if own_process:
            keep_out(computes=bool({command, both} & _COMPUTES))
            if command in _CALLS_OUT:
                stay_outside()
            if both != _CONNECTS and not _is_held_later(arguments):
                seal()
        yield


def _is_held_later(arguments: Sequence[str]) -> bool:
    """Whether the kernel holds the command later: the console when it listens; or not at all: doctor's proof, which
    makes calls on purpose, and has its own tracer."""
    command, *more = arguments or ("",)
    if command == "console":
        return not _ABOUT_PEOPLE & set(more[:1])
    return command == "doctor" and "--egress" in more


def seal() -> None:
    """Have the kernel refuse this thread, and all that it starts, sockets that lead out of the machine.

    Threads that began before are not held, so where there is one, but for the one outside, nothing counts as held.
    """
    threads = len(list(Path("/proc/self/task").iterdir()))
    calls = pipeline.refuse_network(traced=TRACED in os.environ)
    _sealed.calls = calls if threads == 1 + has_outside() else "free"


def seal_if_own() -> None:
    """Seal a process that is a command's own, and has waited with it until it listened."""
    if has_outside():
        seal()


def silence() -> pipeline.Silence:
    """What holds this process now, for the record of a run."""
    return pipeline.Silence(is_watching(), _sealed.calls)
