"""Measures of results: what made a row, what became of it, and how good it is."""

from collections.abc import Mapping

from jobs.controls.base import Evidence, Measure, Running, Standing
from jobs.controls.measures.told import available, of_jobs, since_then
from jobs.load import LoadedJob


def _provenance(running: Running) -> Evidence:
    rows = running.counted("document")
    states = ", ".join(f"{number:,} {state}" for state, number in running.log.states.most_common())
    return Evidence(
        Standing.IN_FORCE if rows else Standing.AVAILABLE, f"rows: {rows:,}" + (f", of them {states}" if rows else "")
    )


def _archive(running: Running) -> Evidence:
    return of_jobs(running, lambda job: job.config.input.afterwards == "archive", "keep the bytes that were processed")


def _replay(running: Running) -> Evidence:
    last = running.log.last.get("replayed")
    if not last:
        return Evidence(Standing.AVAILABLE, "no row was computed again so far")
    counts = ", ".join(f"{number:,} {verdict}" for verdict, number in last["counts"].items() if number)
    standing = Standing.NOT_IN_FORCE if last["different"] else Standing.IN_FORCE
    return Evidence(standing, since_then(running, "replayed", "rows were computed again") + f"; {counts}")


def _pinned(job: LoadedJob) -> bool:
    """Whether a job says the bytes of its model, and of its head if it has one."""
    model = job.config.model
    return model.sha256 is not None and (model.head is None or model.head.sha256 is not None)


def _demands_quality(job: LoadedJob) -> bool:
    return job.config.quality is not None and job.config.quality.require


def _models(running: Running) -> Evidence:
    admitted = since_then(running, "admission.granted", "admitted")
    revoked = since_then(running, "admission.revoked", "revoked")
    pinned = of_jobs(running, _pinned, "pin their model by its sha256")
    required = running.workspace.site.models.require_admission
    demand = "site.yaml demands admission" if required else "site.yaml demands no admission"
    both = required and pinned.standing is Standing.IN_FORCE
    standing = Standing.IN_FORCE if both else Standing.IN_PART if required else pinned.standing
    return Evidence(standing, f"{demand}; {pinned.words}; {admitted}; {revoked}")


def _quality(running: Running) -> Evidence:
    floors = of_jobs(running, _demands_quality, "demand a measured quality")
    return Evidence(floors.standing, f"{floors.words}; {since_then(running, 'qualified', 'measured')}")


def _drift(running: Running) -> Evidence:
    reports = running.counted("reported")
    standing = Standing.IN_FORCE if reports else Standing.AVAILABLE
    return Evidence(standing, since_then(running, "reported", "a report of a night was made"))


MEASURES: Mapping[str, Measure] = {
    "provenance": Measure(
        "The entry of each row has the sha256 of the document, its text, the model and the result, the settings, the "
        "parser, the arithmetic and the software.",
        "cloister audit show PATH",
        _provenance,
    ),
    "supersedes": Measure(
        "A row is never changed: a newer one names the row whose place it takes, and both stay in the log.",
        "cloister audit show PATH",
        _provenance,
    ),
    "archive": Measure("The very bytes that were processed are kept, with their text.", "archive/, failed/", _archive),
    "replay": Measure(
        "Rows are computed again from the kept bytes, and compared bit for bit.", "cloister audit replay", _replay
    ),
    "models": Measure(
        "A job pins its model by sha256. A person admits or revokes a model, and a revoked one is refused.",
        "cloister model list; cloister model admit; cloister model revoke",
        _models,
    ),
    "settings": Measure(
        "A job that runs with other settings, another file or another model than the last time is an entry of its own.",
        "cloister audit search",
        lambda running: Evidence(Standing.IN_FORCE, since_then(running, "job.changed", "a job changed")),
    ),
    "recall": Measure(
        "All results that a model touched are listed, with those that still hold.",
        "cloister audit recall --model SHA",
        lambda running: available(running, "read.recall", "recalled"),
    ),
    "quality": Measure(
        "A job is measured on documents whose answers are known, and can refuse to run below a floor.",
        "cloister qualify",
        _quality,
    ),
    "drift": Measure(
        "Each night has a report for people, which warns when the night is unlike those before.",
        "outbox/*/_reports/report-*.html",
        _drift,
    ),
}
