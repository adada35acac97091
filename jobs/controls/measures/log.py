"""Measures of the log: what it holds, who vouches for it, and how it leaves the house."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import audit
from jobs.controls.base import Evidence, Measure, Running, Standing
from jobs.controls.measures.told import available, since_then, times

_DAYS = 31
"""A log that was not verified for so long counts as verified in part, where site.yaml has no `verify_days`; and one
whose checkpoint was not given out for so long as witnessed in part."""


def _append_only(running: Running) -> Evidence:
    log = running.log
    if not log.size:
        return Evidence(Standing.IN_PART, "the log has no entries yet")
    kinds = f"{len(log.counts):,} types"
    return Evidence(Standing.IN_FORCE, f"{log.size:,} entries of {kinds} since {(log.first or '')[:10]}")


def _verified(running: Running) -> Evidence:
    last = running.log.last.get("verified")
    if not last:
        return Evidence(Standing.NOT_IN_FORCE, "never verified")
    found = {name: last[name] for name in ("integrity", "altered", "added", "absent") if last[name]}
    words = ", ".join(f"{number:,} {name}" for name, number in found.items()) or "nothing found wrong"
    told = since_then(running, "verified", "verified") + f"; {words}"
    if found:
        return Evidence(Standing.NOT_IN_FORCE if set(found) - {"absent"} else Standing.IN_PART, told)
    days = running.workspace.site.log.verify_days or _DAYS
    late = running.now - datetime.fromisoformat(last["time"]) > timedelta(days=days)
    return Evidence(Standing.IN_PART if late else Standing.IN_FORCE, told)


def _witnessed(running: Running) -> Evidence:
    last = running.log.last.get("read.checkpoint")
    told = since_then(running, "read.checkpoint", "a checkpoint was given out")
    if not last:
        return Evidence(Standing.NOT_IN_FORCE, told)
    late = running.now - datetime.fromisoformat(last["time"]) > timedelta(days=_DAYS)
    return Evidence(Standing.IN_PART if late else Standing.IN_FORCE, told)


def _time(running: Running) -> Evidence:
    stepped = running.counted("clock.stepped")
    return Evidence(Standing.IN_FORCE, f"in each entry; the clock was set: {times(stepped)} since {_first(running)}")


def _who(running: Running) -> Evidence:
    users = ", ".join(name for name, _ in running.log.users.most_common(5))
    number = len(running.log.users)
    return Evidence(Standing.IN_FORCE, f"in each entry; {number:,} so far" + (f": {users}" if users else ""))


def _kept(running: Running) -> Evidence:
    return Evidence(Standing.IN_FORCE, f"no rule deletes it; it reaches back to {_first(running)}")


def _keys(running: Running) -> Evidence:
    file, rotated = running.site.key_file, since_then(running, "key.rotated", "replaced")
    try:
        if not file.exists():
            return Evidence(Standing.IN_PART, f"the key is not on this machine; {rotated}")
        phrase = "a passphrase" if audit.is_protected(file) else "no passphrase"
    except PermissionError:
        return Evidence(Standing.IN_PART, f"this user may not look at the key; {rotated}")
    except audit.KeyRefused as error:
        return Evidence(Standing.NOT_IN_FORCE, f"no run would take the key: {error}; {rotated}")
    mode = file.stat().st_mode & 0o777
    return Evidence(Standing.IN_FORCE, f"the key's file has mode {mode:04o}, and {phrase}; {rotated}")


def _first(running: Running) -> str:
    return (running.log.first or "today")[:10]


def _handed(running: Running) -> Evidence:
    refused = running.counted("handover.refused")
    return Evidence(Standing.IN_FORCE, f"what was left for the log and could not be taken: {times(refused)}")


MEASURES: Mapping[str, Measure] = {
    "append-only": Measure(
        "Every result, decision, deletion and command that shows results is an entry of a log that only grows. A "
        "Merkle tree and a signed checkpoint cover all entries.",
        "cloister audit verify",
        _append_only,
    ),
    "verified": Measure(
        "A command checks every byte of the log, and every result and archived document against its entry.",
        "cloister audit verify",
        _verified,
    ),
    "witnessed": Measure(
        "A checkpoint that is kept elsewhere shows whether the log was put back or written anew, even by its key.",
        "cloister audit witness; cloister audit verify --against FILE",
        _witnessed,
    ),
    "time": Measure(
        "Each entry has the time in UTC, the machine's boot and its monotonic clock; a step of the clock is an entry.",
        "audit/FORMAT.md",
        _time,
    ),
    "who": Measure(
        "Each entry names the user of the operating system and the host; those of the console also the person.",
        "cloister audit search",
        _who,
    ),
    "log-kept": Measure("No command and no rule deletes entries of the log.", "audit/FORMAT.md", _kept),
    "keys": Measure(
        "Keys that others may read are refused. The key can have a passphrase, and be replaced by a handover in the "
        "log.",
        "cloister audit key show; cloister audit key rotate",
        _keys,
    ),
    "export": Measure(
        "A span of the log becomes a folder for people and programs that proves itself without this product.",
        "cloister audit export",
        lambda running: available(running, "exported", "exported"),
    ),
    "search": Measure(
        "Entries are found by document, name, job, model, outcome and day.",
        "cloister audit search; cloister audit show",
        lambda running: available(running, "read.search", "searched"),
    ),
    "handed": Measure(
        "Commands that cannot write the log leave their record for the next one that can; whatever is no such record "
        "is refused, and the log says so.",
        "pipeline/records/README.md",
        _handed,
    ),
}
