"""A job and its workspace become a RunPlan: from here on there is no YAML, no default and no environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pipeline
from jobs.config.cluster import cluster_of
from jobs.config.job import NO_OCR, JobConfig
from jobs.config.load import LoadedJob, shown
from jobs.config.workspace import ASK, FOLDERS, Workspace, load_job_of, mount_point, mount_problem
from jobs.errors import NO_ROOM, ConfigError, Problem, Steps, remedy_of
from jobs.silence.seal import silence
from jobs.visible import visible

_MIB = 2**20
_REQUESTS = 50_000
_BATCH_FILES = ("*.jsonl",)


def make_site(workspace: Workspace) -> pipeline.Site:
    """The workspace as the pipeline is told of it."""
    log, limits = workspace.site.log, workspace.site.limits
    return pipeline.Site(
        root=workspace.root,
        origin=log.origin,
        key_file=workspace.root / log.key,
        public_key=log.public_key,
        passphrase_file=workspace.passphrase_file,
        limits=pipeline.Limits(
            seconds=limits.parse_seconds,
            memory_bytes=limits.parse_memory_mib * _MIB,
            output_characters=limits.text_characters,
            unpacked_depth=limits.unpacked_depth,
            unpacked_documents=limits.unpacked_documents,
            unpacked_bytes=limits.unpacked_mib * _MIB,
            unpacked_ratio=limits.unpacked_ratio,
        ),
        max_document_bytes=limits.document_mib * _MIB,
        bounds=pipeline.plan.Bounds(limits.document_tokens, limits.document_seconds),
        isolation=limits.isolation,
        require_admission=workspace.site.models.require_admission,
        at_rest=workspace.at_rest,
    )


def make_plan(workspace: Workspace, job: LoadedJob, *, tells: bool = True) -> pipeline.RunPlan:
    """The run of `job`. ConfigError with all problems that the file alone does not show. `tells`: a line on stderr says
    that a folder which the file names was made."""
    folder, inbox = input_folder(workspace, job), workspace.root / "inbox"
    # a folder elsewhere may be on a disk that is not mounted, and one made in its place would hide that
    if not folder.exists() and Path(os.path.normpath(folder)).is_relative_to(inbox):
        folder.mkdir(parents=True, exist_ok=True)
        if tells and job.config.input.folder:
            print(visible(f"{job.name}: the folder {shown(folder)} was not there; made now"), file=sys.stderr)
    problems = [*_folder_problems(workspace, job), *_encryption_problems(workspace, job)]
    task = _task(job, problems)
    if problems or task is None:
        raise ConfigError(*problems)
    return _plan(workspace, job, task)


def load_and_plan(workspace: Workspace, path: Path) -> tuple[LoadedJob, pipeline.RunPlan] | ConfigError | OSError:
    """The job in a file, and its plan; or what is wrong with it, for those who tell that beside other jobs."""
    try:
        job = load_job_of(workspace, path)
        return job, make_plan(workspace, job)
    except (ConfigError, OSError) as error:
        return error


def task_today(job: LoadedJob) -> pipeline.tasks.Task:
    """The task that the job's file says. ConfigError."""
    problems: list[Problem] = []
    if (task := _task(job, problems)) is None:
        raise ConfigError(*problems)
    return task


def digest_today(workspace: Workspace, job: LoadedJob) -> str:
    """The digest of the settings that a run of `job` would have now; its folder need not be there. ConfigError,
    pipeline.ModelRefusedError, OSError."""
    return pipeline.answer.digest_today(_plan(workspace, job, task_today(job)))


def _plan(workspace: Workspace, job: LoadedJob, task: pipeline.tasks.Task) -> pipeline.RunPlan:
    config, site = job.config, make_site(workspace)
    if config.task.type == "batch":  # with room for the requests of a batch file as OpenAI's service takes it
        most = max(_REQUESTS, site.limits.unpacked_documents)
        site = replace(site, limits=replace(site.limits, unpacked_documents=most))
    head, quality, kept = config.model.head, config.quality, config.retention
    head_path = head_file(workspace, job)
    return pipeline.RunPlan(
        site=site,
        job=job.name,
        job_file_sha256=job.source.sha256,
        input=_input(workspace, job),
        model=pipeline.ModelRef(
            config.model.name,
            model_file(workspace, job),
            config.model.sha256,
            config.model.precision == "file",
            pipeline.plan.HeadRef(head.name, head_path, head.sha256) if head and head_path else None,
        ),
        task=task,
        writing=_writing(config),
        formats=config.output.formats,
        part_documents=config.output.part_documents,
        part_seconds=config.output.part_minutes * 60,
        retention=pipeline.plan.Retention(kept.archive_days, kept.rows_days) if kept else pipeline.plan.Retention(),
        quality=pipeline.plan.Quality(workspace.root / quality.eval, quality.floor.said(), quality.require)
        if quality
        else None,
        versions=config.versions,
        private=config.private,
        silence=silence(),
        cluster=cluster_of(workspace.root, workspace.site.cluster, None),
    )


def _writing(config: JobConfig) -> pipeline.tasks.Writing | None:
    model, task = config.model, config.task
    keys = {"context": model.context, "max_tokens": task.max_tokens, "kv": model.kv, "cache_mib": model.cache_mib}
    said: dict[str, Any] = {key: value for key, value in keys.items() if value is not None}
    return pipeline.tasks.Writing(**said) if said else None


def _input(workspace: Workspace, job: LoadedJob) -> pipeline.Input:
    said, batch = job.config.input, job.config.task.type == "batch"
    return pipeline.Input(
        folder=input_folder(workspace, job),
        include=_BATCH_FILES if batch and "include" not in said.model_fields_set else said.include,
        settle_seconds=said.settle_seconds,
        afterwards=said.afterwards,
        duplicates="process" if batch else said.duplicates,
        hidden=said.hidden,
        ocr=pipeline.plan.Ocr(said.ocr is not NO_OCR, said.ocr.languages) if said.ocr else pipeline.plan.Ocr(),
        priority=said.priority,
    )


def input_folder(workspace: Workspace, job: LoadedJob) -> Path:
    """Where the job's documents come from."""
    return workspace.root / (job.config.input.folder or f"inbox/{job.name}")


def model_file(workspace: Workspace, job: LoadedJob) -> Path:
    """Where the job's model has to lie."""
    return workspace.root / "models" / f"{job.config.model.name}.gguf"


def head_file(workspace: Workspace, job: LoadedJob) -> Path | None:
    """Where the learned head of the job has to lie; None for a job without one."""
    said = job.config.model.head
    return pipeline.heads.head_path(workspace.root / "models", said.name) if said else None


def _folder_problems(workspace: Workspace, job: LoadedJob) -> Iterator[Problem]:
    folder, said = input_folder(workspace, job), job.config.input.folder
    at: Steps = ("input", "folder") if said else ("job",)
    name = said if said and said.startswith("/") else shown(folder)
    if not folder.is_dir():
        found = f"no folder {name}" if not folder.exists() else f"{name}, which is no folder"
        remedy = f"{ASK}; make it only if it is to lie on {mount_point(folder)}" if not folder.exists() else None
        yield job.source.problem(at, found, "the folder of the documents", remedy)
        return
    if (problem := mount_problem(workspace, job, folder)) is not None:
        yield problem
    real = folder.resolve()
    for name in ("audit", *FOLDERS):
        own = (workspace.root / name).resolve()
        if name != "inbox" and (real.is_relative_to(own) or own.is_relative_to(real)):
            found = f"the folder {name}, in which Cloister keeps {name}/"
            yield job.source.problem(at, found, "a folder of documents only", "use a folder in inbox/, or elsewhere")
            return


def _encryption_problems(workspace: Workspace, job: LoadedJob) -> Iterator[Problem]:
    """Files for people and other programs are in the clear, and lie beside what is encrypted."""
    if not workspace.at_rest.writes:
        return
    expected = "what is encrypted, as site.yaml says (encryption)"
    if "markdown" in job.config.output.formats:
        remedy = "remove it; `cloister results -o FILE` writes a clear table when somebody asks for it"
        yield job.source.problem(("output", "formats"), "the format markdown, which is in the clear", expected, remedy)
    if job.config.task.type == "batch":
        remedy = "run it in a workspace without encryption, on an encrypted disk"
        found = "the task batch, whose output files are in the clear"
        yield job.source.problem(("task", "type"), found, expected, remedy)


def _task(job: LoadedJob, problems: list[Problem]) -> pipeline.tasks.Task | None:
    """The task's settings; what they refuse is added to `problems`, at its place in the file."""
    said = job.config.task
    try:
        return pipeline.TASKS[said.type].from_keys(said.said(), job.config.model.name)
    except* pipeline.tasks.SettingsError as group:
        for error in group.exceptions:
            assert isinstance(error, pipeline.tasks.SettingsError)
            problems.append(job.source.problem(("task", *error.at), error.found, error.expected, error.remedy))
    return None


def check_places(plan: pipeline.RunPlan, ready: Sequence[pipeline.inbox.Candidate]) -> None:
    """ConfigError where a run of the plan would not begin because of its folders: documents cannot be moved out, others
    may read private/, or the disk has no room for the first ones."""
    try:
        pipeline.inbox.check_inbox(plan.input)
        if plan.private:
            pipeline.records.refuse_open(plan.site.root)
        pipeline.outbox.look_before_run(plan, ready)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise ConfigError(Problem(str(error.filename), str(error.strerror), None, remedy_of(error))) from error


def refusal_of(
    plan: pipeline.RunPlan, register: pipeline.records.Register | None, *, thorough: bool = False
) -> str | None:
    """Why the model of a job would be refused, as far as that can be told without reading the whole file: one that is
    not pinned is taken for the one that the log last saw under its name. `register`: what the log says; None where it
    was not read. `thorough`: the files of model and head are read whole, unless their sha256 is remembered, the log for
    the quality that the job demands, and whether the model has room for the task."""
    try:
        pipeline.answer.glance_at_model(plan)
        if thorough:
            sha256 = pipeline.answer.check_model(plan, partial(pipeline.answer.remembered_sha256, plan.site))
            pipeline.quality.check_quality(pipeline.answer.with_head(plan, sha256), sha256)
            pipeline.answer.examine_model(plan)
    except pipeline.ModelRefusedError as error:
        return str(error)
    if register is None:
        return None
    model = replace(plan.model, sha256=plan.model.sha256 or register.models.get(plan.model.name))
    return pipeline.records.refusal_of(model, register.admissions, required=plan.site.require_admission)
