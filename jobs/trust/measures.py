"""Measures: what the product does about clauses of law, each with the evidence of this site.

What a measure does and the command that shows it stand in controls.json.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import audit
import pipeline
from jobs.config.load import LoadedJob
from jobs.config.workspace import Workspace
from jobs.trust.finding import Evidence, Finding, Level, Standing
from jobs.trust.secrets import too_wide
from jobs.visible import counted

_DAYS = 31
"""A log that was not verified for so long counts as verified in part, where site.yaml has no `verify_days`; one whose
checkpoint was not given out for so long as witnessed in part; and an older backup as one in part."""
IN_FORCE, AVAILABLE, IN_PART, NOT_IN_FORCE = Standing
_READS = ("read.results", "read.story", "read.search", "read.recall", "read.proof", "read.checkpoint", "console.read")
_FAILURE = "failure"


@dataclass(frozen=True)
class Running:
    """What the evidence is drawn from: the files of a workspace as they are `now`, and its log, counted. `broken`: the
    job files that cannot be read; `people`: who may use the console, with the roles of each, None where this user may
    not read that."""

    workspace: Workspace
    site: pipeline.Site
    jobs: tuple[LoadedJob, ...]
    broken: tuple[str, ...]
    people: dict[str, tuple[str, ...]] | None
    log: pipeline.records.Tally
    now: datetime

    def counted(self, kind: str) -> int:
        """How many entries of this type the log has."""
        return self.log.counts[kind]

    def since_then(self, kind: str, what: str) -> str:
        """How often the log says it, and when last: `exported: twice, the last time on 2026-01-31`."""
        last = self.log.last.get(kind)
        day = f", the last time on {str(last['time'])[:10]}" if last else ""
        return f"{what}: {self.times(kind)}{day}"

    def times(self, *kinds: str) -> str:
        """How many entries of these types the log has: `once`, `twice`, `1,234 times`, `never`."""
        number = sum(map(self.counted, kinds))
        return {0: "never", 1: "once", 2: "twice"}.get(number, f"{number:,} times")

    @property
    def first(self) -> str:
        """The day of the log's first entry."""
        return (self.log.first or "today")[:10]

    def by_age(self, time: str, days: int) -> Standing:
        """In force what was done at that time, in part what is older than so many days."""
        late = self.now - datetime.fromisoformat(time) > timedelta(days=days)
        return IN_PART if late else IN_FORCE


def _told(standing: Standing, words: Callable[[Running], str]) -> Callable[[Running], Evidence]:
    """How to find the evidence of something that always stands so."""
    return lambda running: Finding(standing, words(running))


def _since(kind: str, what: str, standing: Standing = IN_FORCE) -> Callable[[Running], Evidence]:
    """How to find the evidence of something by how often the log has entries of a type."""
    return _told(standing, lambda running: running.since_then(kind, what))


def _of_jobs(running: Running, has: Callable[[LoadedJob], bool], what: str) -> Evidence:
    """Evidence of something that each job can have: in force where all of them do."""
    names = [job.name for job in running.jobs if has(job)]
    number = len(running.jobs)
    if not number:
        return Finding(NOT_IN_FORCE, "there are no jobs")
    standing = IN_FORCE if len(names) == number else IN_PART if names else NOT_IN_FORCE
    listed = f": {', '.join(names)}" if names and len(names) < number else ""
    return Finding(standing, f"{len(names):,} of {number:,} jobs {what}{listed}")


def _append_only(running: Running) -> Evidence:
    log = running.log
    if not log.size:
        return Finding(IN_PART, "the log has no entries yet")
    return Finding(IN_FORCE, f"{log.size:,} entries of {len(log.counts):,} types since {(log.first or '')[:10]}")


def _verified(running: Running) -> Evidence:
    last = running.log.last.get("verified")
    if not last:
        return Finding(NOT_IN_FORCE, "never verified")
    found = {name: last[name] for name in ("integrity", "altered", "added", "absent") if last[name]}
    words = ", ".join(f"{number:,} {name}" for name, number in found.items()) or "nothing found wrong"
    told = running.since_then("verified", "verified") + f"; {words}"
    if found:
        return Finding(NOT_IN_FORCE if set(found) - {"absent"} else IN_PART, told)
    return Finding(running.by_age(last["time"], running.workspace.site.log.verify_days or _DAYS), told)


def _witnessed(running: Running) -> Evidence:
    last = running.log.last.get("read.checkpoint")
    told = running.since_then("read.checkpoint", "a checkpoint was given out")
    return Finding(running.by_age(last["time"], _DAYS) if last else NOT_IN_FORCE, told)


def _who(running: Running) -> Evidence:
    users = ", ".join(name for name, _ in running.log.users.most_common(5))
    number = len(running.log.users)
    return Finding(IN_FORCE, f"in each entry; {number:,} so far" + (f": {users}" if users else ""))


def _keys(running: Running) -> Evidence:
    file, rotated = running.site.key_file, running.since_then("key.rotated", "replaced")
    try:
        if not file.exists():
            return Finding(IN_PART, f"the key is not on this machine; {rotated}")
        phrase = "a passphrase" if audit.is_protected(file) else "no passphrase"
    except PermissionError:
        return Finding(IN_PART, f"this user may not look at the key; {rotated}")
    except audit.KeyRefused as error:
        return Finding(NOT_IN_FORCE, f"no run would take the key: {error}; {rotated}")
    mode = file.stat().st_mode & 0o777
    return Finding(IN_FORCE, f"the key's file has mode {mode:04o}, and {phrase}; {rotated}")


def _provenance(running: Running) -> Evidence:
    rows = running.counted("document")
    states = ", ".join(f"{number:,} {state}" for state, number in running.log.states.most_common())
    return Finding(IN_FORCE if rows else AVAILABLE, f"rows: {rows:,}" + (f", of them {states}" if rows else ""))


def _replay(running: Running) -> Evidence:
    last = running.log.last.get("replayed")
    if not last:
        return Finding(AVAILABLE, "no row was computed again so far")
    counts = ", ".join(f"{number:,} {verdict}" for verdict, number in last["counts"].items() if number)
    standing = NOT_IN_FORCE if last["different"] else IN_FORCE
    return Finding(standing, running.since_then("replayed", "rows were computed again") + f"; {counts}")


def _pinned(job: LoadedJob) -> bool:
    """Whether a job says the bytes of its model, and of its head if it has one."""
    model = job.config.model
    return model.sha256 is not None and (model.head is None or model.head.sha256 is not None)


def _models(running: Running) -> Evidence:
    admitted = running.since_then("admission.granted", "admitted")
    revoked = running.since_then("admission.revoked", "revoked")
    pinned = _of_jobs(running, _pinned, "pin their model by its sha256")
    required = running.workspace.site.models.require_admission
    demand = "site.yaml demands admission" if required else "site.yaml demands no admission"
    both = required and pinned.state is IN_FORCE
    standing = IN_FORCE if both else IN_PART if required else pinned.state
    return Finding(standing, f"{demand}; {pinned.evidence}; {admitted}; {revoked}")


def _quality(running: Running) -> Evidence:
    floors = _of_jobs(running, lambda job: bool(job.config.quality and job.config.quality.require),
                      "demand a measured quality")  # fmt: skip
    return Finding(floors.state, f"{floors.evidence}; {running.since_then('qualified', 'measured')}")


def _drift(running: Running) -> Evidence:
    standing = IN_FORCE if running.counted("reported") else AVAILABLE
    return Finding(standing, running.since_then("reported", "a report of a night was made"))


def _decisions(running: Running) -> Evidence:
    admitted = running.since_then("reviewer_key.admitted", "the key of decisions was admitted")
    refused = f"decisions that were not signed rightly were refused: {running.times('review.refused')}"
    return Finding(IN_FORCE if running.counted("reviewer_key.admitted") else AVAILABLE, f"{admitted}; {refused}")


def _review(running: Running) -> Evidence:
    waiting = running.log.states["review"] + running.log.states["abstained"]
    sampled = running.since_then("sampled", "a sample was drawn")
    return Finding(AVAILABLE, f"{waiting:,} rows were sent to people so far; {sampled}")


def _retention(running: Running) -> Evidence:
    rules = _of_jobs(running, lambda job: job.config.retention is not None, "delete by a rule")
    return Finding(rules.state, f"{rules.evidence}; {running.since_then('deleted.by_rule', 'deleted by rule')}")


def _access(running: Running) -> Evidence:
    refused = f"attempts were refused: {running.times('console.refused')}"
    if running.people is None:
        return Finding(IN_FORCE, f"who may use the console, this user may not read (keys/); {refused}")
    roles = sorted({role for roles in running.people.values() for role in roles})
    who = f"people who may use the console: {len(running.people):,}" + (f" ({', '.join(roles)})" if roles else "")
    return Finding(IN_FORCE, f"{who}; {refused}")


def _backup(running: Running) -> Evidence:
    told = running.since_then("backed_up", "backed up")
    last = running.log.last.get("backed_up")
    if last is None:
        return Finding(NOT_IN_FORCE, f"{told}, by this product's command")
    if not last["right"]:
        return Finding(NOT_IN_FORCE, f"{told}; that copy was not right")
    return Finding(running.by_age(last["time"], _DAYS), f"{told}; the copy was verified")


def _jobs(running: Running) -> Evidence:
    if running.broken:
        return Finding(IN_PART, f"these job files cannot be read: {', '.join(running.broken)}")
    kinds = ", ".join(f"{job.name} ({job.config.task.type})" for job in running.jobs[:10])
    more = f" and {len(running.jobs) - 10:,} more" if len(running.jobs) > 10 else ""
    standing = IN_FORCE if running.jobs else NOT_IN_FORCE
    return Finding(standing, counted(len(running.jobs), "job") + (f": {kinds}{more}" if running.jobs else ""))


def _isolation(running: Running) -> Evidence:
    lacking = ((running.log.last.get("run.started") or {}).get("isolation") or {}).get("lacking") or ()
    if lacking:
        return Finding(IN_PART, f"the last run was without: {', '.join(lacking)}")
    if running.site.isolation != "required":
        return Finding(IN_PART, "site.yaml allows runs without it (isolation: best_effort)")
    return Finding(IN_FORCE, "a run without it is refused")


def _silence(running: Running) -> Evidence:
    held = (running.log.last.get("run.started") or {}).get("silence")
    refused = running.since_then("network.refused", "code that reached for a network was refused")
    if held is None:
        return Finding(AVAILABLE, f"no run has said so far how it was held; {refused}")
    whole = held["audit_hook"] and held["system_calls"] != "free"
    how = "by Python and by the kernel" if whole else "by Python alone" if held["audit_hook"] else "by nothing"
    return Finding(IN_FORCE if whole else IN_PART, f"the last run was held {how}; {refused}")


def _encryption(running: Running) -> Evidence:
    rest = running.site.at_rest
    if rest.writes:
        return Finding(IN_FORCE, f"with the key of {rest.key_file}")
    if rest.on:
        return Finding(IN_PART, "what was written before; new files are in the clear")
    return Finding(NOT_IN_FORCE, "files are in the clear, unless the disk itself is encrypted")


def _capacity(running: Running) -> Evidence:
    taken = sum(path.stat().st_size for path in running.site.audit.rglob("*") if path.is_file())
    free = shutil.disk_usage(running.site.audit).free
    standing = IN_FORCE if free > max(taken, 2**30) else IN_PART
    return Finding(standing, f"the log takes {taken / 2**20:,.1f} MiB, and {free / 2**30:,.1f} GiB are free")


def _calling(running: Running) -> Evidence:
    called, site = running.since_then("notified", "called"), running.workspace.site.notify
    if site and _FAILURE in site.on:
        return Finding(IN_FORCE, f"site.yaml names a command for {', '.join(site.on)}; {called}")
    jobs = _of_jobs(running, lambda job: _FAILURE in (job.config.notify.on if job.config.notify else ()),
                    "name a command for failures")  # fmt: skip
    if site and jobs.state is not IN_FORCE:
        told = f"site.yaml names a command, but not for failures: for {', '.join(site.on)}"
        return Finding(IN_PART, f"{told}; {jobs.evidence}; {called}")
    return Finding(jobs.state, f"{jobs.evidence}; {called}")


def _rights(running: Running) -> Evidence:
    """What the doctor finds of the rights of others in the workspace."""
    found = too_wide(running.workspace.root)
    if not found:
        return Finding(IN_FORCE, "nobody else may read keys and texts, or write what decides")
    wrong = any(each.state is Level.PROBLEM for each in found)
    standing = NOT_IN_FORCE if wrong else IN_PART
    return Finding(standing, " ".join(each.evidence for each in found))


EVIDENCE: Mapping[str, Callable[[Running], Evidence]] = {
    "append-only": _append_only,
    "verified": _verified,
    "witnessed": _witnessed,
    "time": _told(
        IN_FORCE, lambda here: f"in each entry; the clock was set: {here.times('clock.stepped')} since {here.first}"
    ),
    "who": _who,
    "log-kept": _told(IN_FORCE, lambda here: f"no rule deletes it; it reaches back to {here.first}"),
    "keys": _keys,
    "export": _since("exported", "exported", AVAILABLE),
    "search": _since("read.search", "searched", AVAILABLE),
    "handed": _told(
        IN_FORCE, lambda here: f"what was left for the log and could not be taken: {here.times('handover.refused')}"
    ),
    "provenance": _provenance,
    "supersedes": _provenance,
    "archive": lambda here: _of_jobs(
        here, lambda job: job.config.input.afterwards == "archive", "keep the bytes that were processed"
    ),
    "replay": _replay,
    "models": _models,
    "settings": _since("job.changed", "a job changed"),
    "recall": _since("read.recall", "recalled", AVAILABLE),
    "quality": _quality,
    "drift": _drift,
    "reading": _told(IN_FORCE, lambda here: f"recorded: {here.times(*_READS)}"),
    "decisions": _decisions,
    "review": _review,
    "access": _access,
    "retention": _retention,
    "deletion": _since("erased", "erased", AVAILABLE),
    "holds": _told(
        AVAILABLE,
        lambda here: f"{here.counted('hold'):,} holds were placed, and {here.counted('released'):,} released",
    ),
    "backup": _backup,
    "private": lambda here: _of_jobs(here, lambda job: job.config.private, "are private"),
    "telling": _told(IN_FORCE, lambda here: "by the types of records"),
    "jobs": _jobs,
    "controls": _told(IN_FORCE, lambda here: f"made on {here.now:%Y-%m-%d}"),
    "isolation": _isolation,
    "silence": _silence,
    "encryption": _encryption,
    "rights": _rights,
    "crash-safe": _told(
        IN_FORCE,
        lambda here: (
            f"what an interrupted run had left was taken back: {here.times('recovered.cut', 'recovered.undone')}"
        ),
    ),
    "fail-stop": _since("run.stopped", "a full disk ended a run"),
    "capacity": _capacity,
    "calling": _calling,
}
"""How the evidence of each measure of controls.json is found."""
