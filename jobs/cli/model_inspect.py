"""`cloister model inspect`: what a GGUF file says of itself."""

from pathlib import Path
from typing import Annotated, Any

import typer

import pipeline
from jobs.cli.options import JsonOption, WorkspaceOption
from jobs.cli.output import print_json, say
from jobs.config.workspace import open_workspace
from jobs.visible import counted


def inspect(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="A GGUF file, or the name of a model of the workspace.")
    ],
    workspace: WorkspaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show architecture, sizes, types and tokenizer of any GGUF file."""
    facts = pipeline.inspect_model(model_file(model, workspace))
    if as_json:
        print_json(facts)
        return
    print_facts(facts)
    say("metadata")
    for key, value in facts["metadata"].items():
        say(f"  {key} = {value}")


def model_file(model: str, workspace: Path | None) -> Path:
    """The file of a path, which needs no workspace, or of a model of the workspace. pipeline.ModelRefusedError."""
    if "/" in model or model.endswith(".gguf"):
        return Path(model)

    return pipeline.existing(open_workspace(workspace).root / "models" / f"{model}.gguf")


def print_facts(facts: dict[str, Any]) -> None:
    """The facts that a person asks for first."""
    say(f"  architecture  {facts['architecture']} ({facts['name']})")
    say(f"  size          {facts['size']:,} bytes, {facts['parameters']:,} parameters in {facts['tensors']:,} tensors")
    for each in facts["types"]:
        say(f"  {each['type']:<13} {counted(each['tensors'], 'tensor')}, {each['parameters']:,} parameters")
        if each["computed_as"]:
            say("                computed as integers of 8 bits, or with `model: {precision: file}` in float32")
    say(f"  shape         {facts['blocks']} blocks, width {facts['width']}, context {facts['context']} tokens")
    say(
        f"  tokenizer     {facts['tokenizer']}, {facts['vocabulary']:,} tokens"
        if facts["vocabulary"]
        else "  tokenizer     none"
    )
    if facts["chat_template"]:
        say(f"  chat template {facts['chat_template']}")
    say(f"  sha256        {facts['sha256']}")
