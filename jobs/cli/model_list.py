"""`cloister model list`: the model files of a workspace."""

from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, print_table, say
from jobs.workspace import open_workspace


def list_(workspace: WorkspaceOption = None, as_json: JsonOption = False) -> None:
    """List the workspace's model files with what they are and their sha256."""
    import pipeline
    from jobs.plan import make_site

    models = pipeline.list_models(make_site(open_workspace(workspace)))
    if as_json:
        print_json(models)
        return
    if not models:
        say("no model; cloister model import FOLDER --name NAME makes one")
        return
    cells = [
        (model["name"], model["error"], "", "")
        if "error" in model
        else (model["name"], str(model["architecture"]), f"{model['size']:,}", model["sha256"])
        for model in models
    ]
    print_table(("model", "architecture", "bytes", "sha256"), cells, right=("bytes",))
