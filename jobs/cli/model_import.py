"""`cloister model import`: a Hugging Face folder becomes a model file of the workspace."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config import MODEL_NAME, MODEL_NAME_MEANS
from jobs.errors import ConfigError, Problem
from jobs.load import shown
from jobs.workspace import open_workspace


class FileType(StrEnum):
    """How the weights are stored."""

    Q8_0 = "q8_0"
    F16 = "f16"
    F32 = "f32"


def import_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder with config.json and model.safetensors.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The file becomes models/NAME.gguf.")],
    file_type: Annotated[FileType, typer.Option("--type", help="How weights are stored.")] = FileType.Q8_0,
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Convert a model to GGUF.

    The same folder, type and name give the same bytes, so that jobs can pin the sha256.
    """
    import pipeline
    from jobs.cli.model_inspect import print_facts
    from jobs.plan import make_site
    from jobs.progress import saying
    from jobs.record import record

    place = open_workspace(workspace)
    if not re.fullmatch(MODEL_NAME, name):
        raise ConfigError(Problem("--name", f"{name!r}", MODEL_NAME_MEANS))
    path = place.root / "models" / f"{name}.gguf"
    before = pipeline.model_sha256(path)
    with saying() as progress:
        facts = pipeline.import_model(place.root / "models", folder, file_type.value, name, progress)
    for news in pipeline.model_news(name, before, facts["sha256"], "import"):
        record(make_site(place), news)
    if as_json:
        print_json({"path": path, **facts})
        return
    say(f"Made {shown(path)}")
    print_facts(facts)
    say("A job pins it with:")
    say(f'  model: {{name: {name}, sha256: "{facts["sha256"]}"}}')
