"""Which jobs name which files in models/."""

from jobs.config.load import LoadedJob
from jobs.config.workspace import Workspace, readable_jobs


def files_of(job: LoadedJob) -> frozenset[str]:
    """The names of the files in models/ that a job uses: its model, and its head if it has one."""
    model = job.config.model
    heads = [f"{model.head.name}.head"] if model.head else []
    return frozenset({f"{model.name}.gguf", *heads})


def users(workspace: Workspace) -> dict[str, list[str]]:
    """The jobs that use each file in models/, by the file's name."""
    found: dict[str, list[str]] = {}
    for job in readable_jobs(workspace):
        for file in files_of(job):
            found.setdefault(file, []).append(job.name)
    return found
