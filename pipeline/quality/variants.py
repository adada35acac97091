"""A job as it is, and on other models and learned heads: what is compared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipeline.answer.heads import load_head, with_head
from pipeline.answer.models import check_model, examine_model, writing_of
from pipeline.heads import HeadFile, head_path
from pipeline.plan import HeadRef, ModelRef, RunPlan
from pipeline.records.settings import job_digest


@dataclass(frozen=True)
class Variant:
    """A plan whose model and head are there and checked. `own`: it is the job as its file has it; `bytes`: of the files
    of model and head together."""

    plan: RunPlan
    model_sha256: str
    job_digest: str
    bytes: int
    own: bool

    @property
    def name(self) -> str:
        """The names of the model and of the head, for people."""
        head = self.plan.model.head
        return f"{self.plan.model.name} + {head.name}" if head else self.plan.model.name

    @property
    def head_file(self) -> HeadFile | None:
        """The learned head, read from its file."""
        return load_head(self.plan.model.head) if self.plan.model.head else None


def variants(plan: RunPlan, models: Sequence[str], heads: Sequence[str]) -> list[Variant]:
    """The job as it is, then on each of the models without a head, then with each of the heads on the model that it was
    learned on; the same settings once. ModelRefusedError for one that cannot be used, before anything is computed."""
    found = dict[str, Variant]()
    for number, one in enumerate(_plans(plan, models, heads)):
        variant = _checked(one, number == 0)
        found.setdefault(variant.job_digest, variant)
    return list(found.values())


def _plans(plan: RunPlan, models: Sequence[str], heads: Sequence[str]) -> Iterator[RunPlan]:
    yield plan
    for name in models:
        yield replace(plan, model=_model(plan, name))
    for name in heads:
        ref = HeadRef(name, head_path(plan.site.models, name), None)
        of = str(load_head(ref).facts.get("model_name"))
        yield replace(plan, model=replace(_model(plan, of), head=ref))


def _model(plan: RunPlan, name: str) -> ModelRef:
    """The model of this name, computed as the job says where it is the job's own."""
    if name == plan.model.name:
        return replace(plan.model, head=None)
    return ModelRef(name, plan.site.models / f"{name}.gguf", None)


def _checked(plan: RunPlan, own: bool) -> Variant:
    """The plan with what a run would find out of its model. Settings for models that write are left out on others,
    unless the job itself has them there: a run of it is refused."""
    bare = plan if own else replace(plan, writing=None)
    sha256 = check_model(bare)
    writing = writing_of(bare)
    if writing is not None and plan.writing is not None:
        writing = plan.writing
    checked = replace(with_head(bare, sha256), writing=writing)
    examine_model(checked)
    files = [checked.model.path, *([checked.model.head.path] if checked.model.head else [])]
    size = sum(path.stat().st_size for path in files)
    return Variant(checked, sha256, job_digest(checked, sha256), size, own)
