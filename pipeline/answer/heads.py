"""Learned heads of a workspace: checked against the job's pin and its model, and loaded."""

import difflib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pipeline.errors import ModelRefusedError
from pipeline.heads import HeadFile, head_files, read_head
from pipeline.plan import HeadRef, RunPlan
from pipeline.tasks import TaskRefusedError


def with_head(plan: RunPlan, model_sha256: str) -> RunPlan:
    """The plan with the sha256 of its head's file, if it has one: from then on it is pinned. ModelRefusedError."""
    ref = plan.model.head
    if ref is None:
        return plan
    head = load_head(ref)
    if head.facts.get("model_sha256") != model_sha256:
        raise ModelRefusedError(
            f"head {ref.name}: {ref.path} was learned on another model "
            f"({head.facts.get('model_name')}, sha256 {head.facts.get('model_sha256')}); learn it again with "
            f"`cloister learn`, or let the job name that model"
        )
    try:
        plan.task.check_head(head)
    except TaskRefusedError as error:
        raise ModelRefusedError(f"head {ref.name}: {error}") from error
    return replace(plan, model=replace(plan.model, head=replace(ref, sha256=head.sha256)))


def promises_of(plan: RunPlan) -> Iterator[str]:
    """Tell in words what the job promises of its answers; the plan is one that `with_head` gave. Raises
    ModelRefusedError."""
    return plan.task.promises(load_head(plan.model.head)) if plan.model.head else iter(())


def load_head(ref: HeadRef) -> HeadFile:
    """The head in a file that is as the job pins it. ModelRefusedError."""
    check_head_there(ref)
    return read_head(ref.path, ref.sha256)


def check_head_there(ref: HeadRef) -> None:
    """ModelRefusedError, with a name that is nearly the same, if there is no such file."""
    if not ref.path.is_file():
        remedy = did_you_mean(ref.path) or "`cloister learn JOB --examples FILE` makes it"
        raise ModelRefusedError(f"head {ref.name}: there is no file {ref.path}; {remedy}")


def did_you_mean(path: Path) -> str | None:
    """The name of a model or head beside a missing one of its kind, if it is nearly the same."""
    files = head_files(path.parent) if path.suffix == ".head" else path.parent.glob(f"*{path.suffix}")
    known = [file.stem for file in files]
    close = difflib.get_close_matches(path.stem.lower(), known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else None
