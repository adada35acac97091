"""`cloister model list`: the model files of a workspace."""

import re
from typing import Any

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.config import MODEL_NAME
from jobs.plan import make_site
from jobs.workspace import open_workspace

_USES = {"embedding": "classify, extract, summarize", "text": "every task"}


def list_(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the workspace's model files with what jobs can use them for and their sha256."""
    models = [model | {"use": _use(model)} for model in pipeline.list_models(make_site(open_workspace(workspace)))]
    if as_json:
        print_json(models)
        return
    if not models:
        say("no model; cloister model import FOLDER_OR_FILE --name NAME brings one in")
        return
    cells = [
        (model["name"], model["use"], str(model.get("architecture", "")), f"{model.get('size', 0):,}",
         model.get("sha256", ""))
        for model in models
    ]  # fmt: skip
    print_table(
        ("model", "for jobs that", "architecture", "bytes", "sha256"), cells, right=("bytes",), whole=("model",)
    )


def _use(model: dict[str, Any]) -> str:
    """The tasks that a job can give the model, or why no job can use it."""
    if "error" in model:
        return f"none: {model['error']}"
    if not re.fullmatch(MODEL_NAME, model["name"]):
        return "none: a job cannot name it; rename the file to letters, digits, '.', '_' and '-'"
    return _USES.get(model["head"], f"none: it has the head {model['head']!r}")
