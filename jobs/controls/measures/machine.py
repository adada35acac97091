"""Measures of the machine: what holds parsers, what happens when something fails, and who is called."""

import shutil
from collections.abc import Mapping

from jobs.controls.base import Evidence, Measure, Running, Standing
from jobs.controls.measures.told import of_jobs, since_then, times
from jobs.doctor.base import Level
from jobs.doctor.workspace.permissions import too_wide
from jobs.load import LoadedJob

_FAILURE = "failure"


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
    called, site = since_then(running, "notified", "called"), running.workspace.site.notify
    if site and _FAILURE in site.on:
        return Evidence(Standing.IN_FORCE, f"site.yaml names a command for {', '.join(site.on)}; {called}")
    jobs = of_jobs(running, _calls, "name a command for failures")
    if site and jobs.standing is not Standing.IN_FORCE:
        told = f"site.yaml names a command, but not for failures: for {', '.join(site.on)}"
        return Evidence(Standing.IN_PART, f"{told}; {jobs.words}; {called}")
    return Evidence(jobs.standing, f"{jobs.words}; {called}")


def _calls(job: LoadedJob) -> bool:
    return job.config.notify is not None and _FAILURE in job.config.notify.on


def _rights(running: Running) -> Evidence:
    """What the doctor finds of the rights of others in the workspace."""
    found = too_wide(running.workspace.root)
    if not found:
        return Evidence(Standing.IN_FORCE, "nobody else may read keys and texts, or write what decides")
    wrong = any(each.level is Level.PROBLEM for each in found)
    standing = Standing.NOT_IN_FORCE if wrong else Standing.IN_PART
    return Evidence(standing, " ".join(each.sentence for each in found))


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
    "rights": Measure(
        "What is made in the workspace can be read by the service's user alone; groups get rights by a table.",
        "cloister doctor; jobs/README.md",
        _rights,
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
    "capacity": Measure(
        "A run looks for room before it begins and before each part, and stops where there is too little.",
        "cloister doctor",
        _capacity,
    ),
    "calling": Measure(
        "A command of the site is called when a run failed, nothing came, or a night is unlike the others.",
        "notify in site.yaml and jobs/*.yaml; cloister status --check",
        _calling,
    ),
}
