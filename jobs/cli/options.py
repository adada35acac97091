"""Options that every command has, and arguments that several have."""

import os
import pwd
from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.config.workspace import find_workspace
from jobs.errors import ConfigError, Problem


def job_names(incomplete: str) -> list[str]:
    """The jobs that a shell may complete a word to: those of the workspace that the environment or the current folder
    gives."""
    try:
        folder = find_workspace(None) / "jobs"
    except ConfigError:
        return []
    return sorted(path.stem for path in folder.glob("*.yaml") if path.stem.startswith(incomplete))


_MOST_TEXT = 4_096  # characters of a text that goes into the log
WorkspaceOption = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        metavar="DIR",
        help="The workspace; else CLOISTER_WORKSPACE, else the nearest folder upward with a site.yaml.",
        show_default=False,
    ),
]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write it to this file.")]
WitnessOption = Annotated[
    list[str] | None,
    typer.Option(
        "--witness", metavar="KEY", help="Demand the cosignature of this witness (its public key, or a file with it)."
    ),
]
PassphraseOption = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        metavar="PATH",
        help="Protect the new key with the passphrase in this file, which only its owner may read.",
        show_default=False,
    ),
]
NewestOption = Annotated[
    bool, typer.Option("--newest", help="Of each path only the newest file, whatever the job says.")
]
AllVersionsOption = Annotated[
    bool, typer.Option("--all-versions", help="Of each path all files, also where the job says: versions: newest.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of text.")]
WaitOption = Annotated[
    float,
    typer.Option("--wait", min=0, metavar="SECONDS", help="Wait so long while another process holds the workspace."),
]
ByOption = Annotated[
    str | None,
    typer.Option("--by", metavar="PERSON", help="Who decides it; the user of the operating system if left out."),
]
_JOBS: Any = typer.Argument(
    metavar="JOB", help="A job of the workspace (jobs/NAME.yaml), or a path to a YAML file.", autocompletion=job_names
)
JobsArgument = Annotated[list[str], _JOBS]
SomeJobsArgument = Annotated[list[str] | None, _JOBS]
DocumentArgument = Annotated[
    str, typer.Argument(metavar="DOC", help="Its path below the input folder, or its sha256 (six digits or more).")
]


def newest_of(newest: bool, all_versions: bool) -> bool | None:
    """What --newest and --all-versions ask for; None where neither is given, and the job says it. ConfigError for
    both."""
    if newest and all_versions:
        raise ConfigError(Problem("--newest", "given together with --all-versions", "one of them", "leave out one"))
    return newest if newest or all_versions else None


def check_reason(reason: str) -> None:
    """ConfigError for one that says nothing, or too much for the log."""
    check_text("--reason", reason, "why; it stands in the log")


def check_text(option: str, text: str, expected: str) -> None:
    """ConfigError for the text of an option that says nothing, or too much for the log."""
    if not text.strip():
        raise ConfigError(Problem(option, "is empty", expected))
    if len(text) > _MOST_TEXT:
        raise ConfigError(Problem(option, f"has {len(text):,} characters", f"at most {_MOST_TEXT:,}"))


def person(by: str | None) -> str:
    """The person whom --by names, else the user whose process this is. ConfigError for what is no name."""
    if by is not None:
        check_text("--by", by, "a person's name; it stands in the log")
        return by.strip()
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container's user without a line in /etc/passwd
        return str(os.geteuid())
