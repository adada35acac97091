"""Which jobs name which files in models/."""

from collections.abc import Iterator

from jobs.errors import ConfigError
from jobs.load import LoadedJob
from jobs.workspace import Workspace, load_job_of


def loaded_jobs(workspace: Workspace) -> Iterator[LoadedJob]:
    """Yield the jobs of the workspace whose files can be read."""
    for path in workspace.job_files():
        try:
            yield load_job_of(workspace, path)
        except ConfigError:  # `cloister check` tells what is wrong with it
            continue


def files_of(job: LoadedJob) -> frozenset[str]:
    """The names of the files in models/ that a job uses: its model, and its head if it has one."""
    model = job.config.model
    heads = [f"{model.head.name}.head"] if model.head else []
    return frozenset({f"{model.name}.gguf", *heads})


def users(workspace: Workspace) -> dict[str, list[str]]:
    """The jobs that use each file in models/, by the file's name."""
    found: dict[str, list[str]] = {}
    for job in loaded_jobs(workspace):
        for file in files_of(job):
            found.setdefault(file, []).append(job.name)
    return found
