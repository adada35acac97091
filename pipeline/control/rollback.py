"""A job goes back to the model, and the head, that it used before: what the log says of its runs, and which files in
models/ have those bytes now."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.control.files import HEAD, MODEL, Contents
from pipeline.errors import ModelRefusedError
from pipeline.heads import head_path
from pipeline.outbox.recover import recovered_log
from pipeline.plan import HeadRef, ModelRef, RunPlan
from pipeline.records.entries import fold, read_entries
from pipeline.records.register import Admissions, refusal_of
from pipeline.records.settings import KeptSettings
from pipeline.records.types import JobRolledBack, ModelAndHead, Record, RunStarted


class NothingBeforeError(LookupError):
    """The job never used another model that it may go back to."""


@dataclass
class Uses:
    """The models with which runs of a job began, each with the settings of the run, in the order of the log."""

    job: str
    began: list[RunStarted] = field(default_factory=list)

    def take(self, entry: Record) -> None:
        """Take in the next entry, of any type."""
        if isinstance(entry, RunStarted) and entry.job == self.job:
            self.began.append(entry)

    def used(self, settings: KeptSettings) -> list[ModelAndHead]:
        """Return the models, with their heads, that runs used: newest first, each once."""
        found = (_used(each, settings) for each in reversed(self.began))
        return list(dict.fromkeys(each for each in found if each is not None))


def _used(began: RunStarted, settings: KeptSettings) -> ModelAndHead | None:
    """The model and head of a run; None where the log does not have its settings as this version reads them."""
    values = settings.get(began.job_digest)
    if values is None:
        return None
    head = values.get("head") or {}
    return ModelAndHead(began.model, began.model_sha256, head.get("name"), head.get("sha256"))


@dataclass(frozen=True)
class RolledBack:
    """A rollback: the number of its entry, what the job's file named before and names now, and the models that it
    passed over because no run may use them."""

    number: int
    before: ModelAndHead
    after: ModelAndHead
    passed: tuple[str, ...]


def roll_back(
    plan: RunPlan, to: str | None, write: Callable[[ModelAndHead], None], by: str, reason: str, *, wait: float = 0
) -> RolledBack:
    """Let a job go back to what it used before its present model and head, or to the model or head whose sha256 begins
    with `to`: `write` puts it into the job's file. The log is held meanwhile, so that no run comes between.

    Raises NothingBeforeError, ModelRefusedError for files that are gone, what `write` raises, OSError, and
    audit.AuditError (of them LogHeld after `wait` seconds).
    """
    contents = Contents(plan.site.models)
    with recovered_log(plan.site, wait) as log:
        known, settings, uses = Admissions(), KeptSettings(), Uses(plan.job)
        fold(read_entries(plan.site), known, settings, uses)
        before = _now(plan, contents)
        wanted, passed = _choose(plan, uses.used(settings), before, known, to)
        head = None if wanted.head is None else _name(contents, f"{wanted.head}{HEAD}", wanted.head_sha256)
        model = _name(contents, f"{wanted.model}{MODEL}", wanted.sha256)
        after = ModelAndHead(model, wanted.sha256, head, wanted.head_sha256)
        write(after)
        record = JobRolledBack(of_job=plan.job, before=before, after=after, by=by, reason=reason)
        number = log.commit([record])
    assert number is not None
    return RolledBack(number, before, after, passed)


def _now(plan: RunPlan, contents: Contents) -> ModelAndHead:
    """The model and head that the job's file names, with the sha256 that they have or must have."""
    model, head = plan.model, plan.model.head
    pinned = model.sha256 or (contents.sha256(model.path) if model.path.is_file() else None)
    if head is None:
        return ModelAndHead(model.name, pinned)
    of_head = head.sha256 or (contents.sha256(head.path) if head.path.is_file() else None)
    return ModelAndHead(model.name, pinned, head.name, of_head)


def _choose(
    plan: RunPlan, used: list[ModelAndHead], now: ModelAndHead, known: Admissions, to: str | None
) -> tuple[ModelAndHead, tuple[str, ...]]:
    """The newest that has other bytes than the present one and may be used, and why others before it may not."""
    passed = list[str]()
    for each in used:
        if _bytes(each) == _bytes(now) or (
            to and not any(sha256 is not None and sha256.startswith(to) for sha256 in _bytes(each))
        ):
            continue
        site = plan.site
        head = None
        if each.head is not None:
            head = HeadRef(each.head, head_path(site.models, each.head), each.head_sha256)
        if told := refusal_of(
            ModelRef(each.model, site.models / f"{each.model}{MODEL}", each.sha256, head=head),
            known,
            required=plan.site.require_admission,
        ):
            passed.append(told)
        else:
            return each, tuple(passed)
    raise NothingBeforeError(_nothing(plan.job, to, passed))


def _bytes(used: ModelAndHead) -> tuple[str | None, str | None]:
    return used.sha256, used.head_sha256


def _nothing(job: str, to: str | None, passed: list[str]) -> str:
    what = f"with a model or head whose sha256 begins with {to}" if to else "with another model or head than now"
    told = f"no run of {job} began {what}"
    return f"{told} that may be used: {'; '.join(passed)}" if passed else f"{told}, by the log"


def _name(contents: Contents, named: str, sha256: str | None) -> str:
    path = contents.find(sha256 or "", named)
    if path is None:
        raise ModelRefusedError(
            f"models/{named} as it was then (sha256 {sha256}) is gone: no file in models/ has these bytes; bring it "
            "back from a backup under any name, or name an earlier one with --to"
        )
    return path.stem
