"""Measures of the machine: what holds parsers, what happens when something fails, and who is called."""

import shutil
from collections.abc import Mapping

from jobs.controls.base import Evidence, Measure, Running, Standing
from jobs.controls.measures.told import of_jobs, since_then, times


def _isolation(running: Running) -> Evidence:
    lacking = ((running.log.last.get("run.started") or {}).get("isolation") or {}).get("lacking") or ()
    if lacking:
        return Evidence(Standing.IN_PART, f"the last run was without: {', '.join(lacking)}")
    if running.site.isolation != "required":
        return Evidence(Standing.IN_PART, "site.yaml allows runs without it (isolation: best_effort)")
    return Evidence(Standing.IN_FORCE, "a run without it is refused")


def _silence(running: Running) -> Evidence:
    held = (running.log.last.get("run.started") or {}).get("silence")
    refused = since_then(running, "network.refused", "code that reached for a network was refused")
    if held is None:
        return Evidence(Standing.AVAILABLE, f"no run has said so far how it was held; {refused}")
    whole = held["audit_hook"] and held["system_calls"] != "free"
    how = "by Python and by the kernel" if whole else "by Python alone" if held["audit_hook"] else "by nothing"
    return Evidence(Standing.IN_FORCE if whole else Standing.IN_PART, f"the last run was held {how}; {refused}")


def _encryption(running: Running) -> Evidence:
    rest = running.site.at_rest
    if rest.writes:
        return Evidence(Standing.IN_FORCE, f"with the key of {rest.key_file}")
    if rest.on:
        return Evidence(Standing.IN_PART, "what was written before; new files are in the clear")
    return Evidence(Standing.NOT_IN_FORCE, "files are in the clear, unless the disk itself is encrypted")


def _crash_safe(running: Running) -> Evidence:
    cut, undone = running.counted("recovered.cut"), running.counted("recovered.undone")
    return Evidence(Standing.IN_FORCE, f"what an interrupted run had left was taken back: {times(cut + undone)}")


def _fail_stop(running: Running) -> Evidence:
    return Evidence(Standing.IN_FORCE, since_then(running, "run.stopped", "a full disk ended a run"))


def _capacity(running: Running) -> Evidence:
    taken = sum(path.stat().st_size for path in running.site.audit.rglob("*") if path.is_file())
    free = shutil.disk_usage(running.site.audit).free
    standing = Standing.IN_FORCE if free > max(taken, 2**30) else Standing.IN_PART
    return Evidence(standing, f"the log takes {taken / 2**20:,.1f} MiB, and {free / 2**30:,.1f} GiB are free")


def _calling(running: Running) -> Evidence:
    called = since_then(running, "notified", "called")
    if running.workspace.site.notify:
        return Evidence(Standing.IN_FORCE, f"site.yaml names a command for all jobs; {called}")
    jobs = of_jobs(running, lambda job: job.config.notify is not None, "name a command")
    return Evidence(jobs.standing, f"{jobs.words}; {called}")


MEASURES: Mapping[str, Measure] = {
    "isolation": Measure(
        "Documents are read in child processes without files, network and other processes.",
        "pipeline/parse/README.md; cloister status",
        _isolation,
    ),
    "silence": Measure(
        "No process of the product can open a connection or resolve a name, but for what the site itself calls.",
        "cloister doctor --egress",
        _silence,
    ),
    "encryption": Measure(
        "Documents, their text and results are encrypted on the disk, each document with a key of its own, which an "
        "erasure destroys.",
        "pipeline/atrest/README.md; encryption in site.yaml",
        _encryption,
    ),
    "crash-safe": Measure(
        "A result is there when its signed entry is, and not before: a run that is killed anywhere leaves neither half "
        "of it.",
        "audit/FORMAT.md",
        _crash_safe,
    ),
    "fail-stop": Measure(
        "Where the log cannot be written or trusted, nothing more is processed.", "exit code 4", _fail_stop
    ),
    "capacity": Measure("The room that the log takes, and what is left.", "cloister doctor", _capacity),
    "calling": Measure(
        "A command of the site is called when a run failed, nothing came, or a night is unlike the others.",
        "notify in site.yaml and jobs/*.yaml; cloister status --check",
        _calling,
    ),
}
