"""Learned heads of a workspace: checked against the job's pin and its model, and loaded."""

from dataclasses import replace

from pipeline.errors import ModelRefusedError
from pipeline.heads.file import HeadFile, read_head
from pipeline.paths.digest import file_sha256
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
            f"head {ref.name}: {ref.path} was learned on the vectors of another model "
            f"({head.facts.get('model_name')}, sha256 {head.facts.get('model_sha256')}); learn it again with "
            f"`cloister learn`, or let the job name that model"
        )
    try:
        plan.task.check_head(head)
    except TaskRefusedError as error:
        raise ModelRefusedError(f"head {ref.name}: {error}") from error
    found = replace(ref, sha256=file_sha256(ref.path))
    return replace(plan, model=replace(plan.model, head=found))


def load_head(ref: HeadRef) -> HeadFile:
    """The head in a file that is as the job pins it. ModelRefusedError."""
    if ref.sha256 and ref.path.is_file() and ref.sha256 != (found := file_sha256(ref.path)):
        raise ModelRefusedError(
            f"head {ref.name}: {ref.path} has sha256 {found}, but the job pins {ref.sha256}; put the pinned file back, "
            "or pin the new one in the job after you have looked at it"
        )
    return read_head(ref.path)
