"""`cloister model list`: the model files and heads of a workspace."""

import re
from collections.abc import Iterator
from typing import Any

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.cli.uses import users
from jobs.config.job import MODEL_NAME
from jobs.config.plan import make_site
from jobs.config.workspace import Workspace, open_workspace

_USES = {
    "embedding": "classify, extract, summarize",
    "text": "every task",
    "sequence": "classify with labels: from_model",
    "tokens": "extract entities",
    "span": "extract by questions",
}
_UNNAMED = "none: a job cannot name it; rename the file to letters, digits, '.', '_' and '-'"


def list_(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the workspace's models and learned heads by the names that jobs write, with heads of Cloister for them.

    Tells what jobs can use each for, which jobs do, whether it is admitted or revoked, and its sha256.
    """
    listed = list(_listed(open_workspace(workspace)))
    if as_json:
        print_json(listed)
        return
    if not listed:
        say("no model; cloister model import FOLDER_OR_FILE --name NAME brings one in")
        return
    cells = [
        (each["name"], each["use"], str(each.get("architecture") or ""), f"{each.get('size', 0):,}",
         ", ".join(each["jobs"]), each["admission"]["told"], each.get("sha256", ""))
        for each in listed
    ]  # fmt: skip
    head = ("model", "for jobs that", "architecture", "bytes", "used by", "admission", "sha256")
    print_table(head, cells, right=("bytes",), whole=("model",))


def _listed(place: Workspace) -> Iterator[dict[str, Any]]:
    site = make_site(place)
    models = [{**model, "file": f"{model['name']}.gguf", "use": _use(model)} for model in pipeline.list_models(site)]
    heads = [
        {**head, "architecture": "head", "file": f"{head['name']}.head", "use": _use_of_head(head)}
        for head in pipeline.list_heads(site)
        if not head["packaged"] or head["model_sha256"] in {model.get("sha256") for model in models}
    ]
    jobs, known = users(place), pipeline.read_admissions(site)
    for each in models + heads:
        decision = known.last.get(each.get("sha256", ""))
        yield {**each, "jobs": sorted(jobs.get(each["file"], [])), "admission": _admission(decision)}


def _admission(decision: "pipeline.Decision | None") -> dict[str, Any]:
    """The decision about a file, for programs and (`told`) for people."""
    if decision is None:
        return {"state": "none", "told": "not admitted"}
    state = "revoked" if decision.revoked else "admitted"
    facts = {"entry": decision.number, "time": decision.time, "by": decision.by, "reason": decision.reason}
    return {"state": state, **facts, "told": decision.in_words()}


def _use(model: dict[str, Any]) -> str:
    """The tasks that a job can give the model, or why no job can use the file."""
    if "error" in model:
        return f"none: {model['error']}"
    if not re.fullmatch(MODEL_NAME, model["name"]):
        return _UNNAMED
    return _USES[model["head"]]


def _use_of_head(head: dict[str, Any]) -> str:
    """The task that a head answers, and the model whose vectors it was learned on."""
    if "error" in head:
        return f"none: {head['error']}"
    if not re.fullmatch(MODEL_NAME, head["name"]):
        return _UNNAMED
    return f"{head['kind']}, as model.head on {head['model_name']}"
