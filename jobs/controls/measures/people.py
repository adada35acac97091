"""Measures of people: who may do what, what they read, and what they decided."""

from collections.abc import Mapping

from jobs.controls.base import Evidence, Measure, Running, Standing
from jobs.controls.measures.told import since_then, times

_READS = ("read.results", "read.story", "read.search", "read.recall", "read.proof", "read.checkpoint", "console.read")


def _reading(running: Running) -> Evidence:
    number = sum(running.counted(kind) for kind in _READS)
    return Evidence(Standing.IN_FORCE, f"recorded: {times(number)}")


def _decisions(running: Running) -> Evidence:
    refused = running.counted("review.refused")
    admitted = since_then(running, "reviewer_key.admitted", "the key of decisions was admitted")
    standing = Standing.IN_FORCE if running.counted("reviewer_key.admitted") else Standing.AVAILABLE
    return Evidence(standing, f"{admitted}; decisions that were not signed rightly were refused: {times(refused)}")


def _review(running: Running) -> Evidence:
    waiting = running.log.states["review"] + running.log.states["abstained"]
    sampled = since_then(running, "sampled", "a sample was drawn")
    return Evidence(Standing.AVAILABLE, f"{waiting:,} rows were sent to people so far; {sampled}")


def _access(running: Running) -> Evidence:
    refused = f"attempts were refused: {times(running.counted('console.refused'))}"
    if running.people is None:
        return Evidence(Standing.IN_FORCE, f"who may use the console, this user may not read (keys/); {refused}")
    roles = sorted({role for roles in running.people.values() for role in roles})
    who = f"people who may use the console: {len(running.people):,}" + (f" ({', '.join(roles)})" if roles else "")
    return Evidence(Standing.IN_FORCE, f"{who}; {refused}")


MEASURES: Mapping[str, Measure] = {
    "reading": Measure(
        "Whoever is shown rows, stories or documents by a command or the console is recorded; who opens files in "
        "outbox/ or archive/ by other programs is not.",
        "cloister audit search",
        _reading,
    ),
    "decisions": Measure(
        "What a person decides about a row is a row of its own, with the name and the reason, signed.",
        "cloister review list; cloister audit show PATH",
        _decisions,
    ),
    "review": Measure(
        "What the model is not sure of, and what may hide text, goes to people; samples check the rest.",
        "cloister review list; cloister review sample",
        _review,
    ),
    "access": Measure(
        "The console asks each person for a passphrase and has four roles; what it refuses is recorded.",
        "cloister console people",
        _access,
    ),
}
