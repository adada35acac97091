"""The tables of commands: name -> the file in this folder and the function in it, with a point between; and what the
help of `cloister` says of each, which loads none of them."""

from collections.abc import Mapping
from typing import NamedTuple


class Group(NamedTuple):
    """A group of commands: what its help says; the command that it is by itself, if it is one; and those in it."""

    help: str | None
    own: str | None
    commands: "Mapping[str, str | Group]"


TITLE = "Documents in, audited answers out: on your own CPUs, without a network."
HELP = {
    "init": "Make a workspace: folders, signing key, empty audit log, site.yaml.",
    "new": "Begin a job: write jobs/JOB.yaml, with comments, so that `cloister check` accepts it. No file is "
    "overwritten.",
    "check": "Check jobs without running them, all of the workspace if none is named: YAML, folders, model file, its "
    "sha256 and what it is for, and whether it may be used.",
    "plan": "Say what waits for jobs, all of the workspace if none is named, and when it will be done.",
    "run": "Run jobs once, one after another; a mistake in one of them does not keep the others from running.",
    "retry": "Take up failed documents again, from failed/ or, if they could not be read, from the input folder.",
    "rerun": "Answer archived documents again, after labels, the model or other settings of a job changed.",
    "serve": "Run the workspace's jobs by their cron lines, or as files arrive.",
    "status": "Show each job: next start, waiting files, last run, totals.",
    "doctor": "Look at this machine, and at a workspace if there is one: is it fit for a night?",
    "results": "Show each document: its state, and its answer or why there is none.",
    "learn": "Learn from examples how to answer a job: on a model that gives embeddings, or labels on one that writes.",
    "qualify": "Measure a job on documents whose answers are known: it answers them as a run does, and commits no row.",
    "bench": "Measure a model on this machine.",
    "backup": "Copy the workspace into a new folder in DEST, and verify the copy.",
    "restore": "Make a workspace of a backup, and verify it.",
    "worker": "Read and answer documents for runs on another machine, until Ctrl-C or SIGTERM.",
    "console": "Serve the workspace's pages to browsers on this machine, until Ctrl-C or SIGTERM.",
}
"""The first paragraph of a command's own help."""


def _commands(file: str, *names: str) -> dict[str, str]:
    """Commands of one file, each with the name of its function; a function that Python would not call so ends in _."""
    return {name: f"{file}.{name}{'_' if name in ('import', 'list') else ''}" for name in names}


COMMANDS: Mapping[str, str | Group] = {
    **_commands("init", "init"),
    **_commands("new", "new"),
    **_commands("check", "check"),
    **_commands("check", "plan"),
    **_commands("run", "run"),
    **_commands("rerun", "retry", "rerun"),
    **_commands("serve", "serve"),
    **_commands("status", "status"),
    **_commands("doctor", "doctor"),
    **_commands("results", "results"),
    **_commands("model_use", "learn"),
    **_commands("measure", "qualify", "bench"),
    **_commands("backup", "backup", "restore"),
    **_commands("serve", "worker"),
    "cluster": Group(
        "Other machines that read and answer: start workers, see who works.",
        None,
        _commands("serve", "up", "down", "status", "scheduler", "credential"),
    ),
    "model": Group(
        "Model files and heads: bring them in, list and compare them, and say which may be used.",
        None,
        _commands("model", "import", "quantize", "inspect", "list")
        | _commands("model_use", "admit", "revoke", "verify", "diff", "rollback"),
    ),
    "bundle": Group(
        "Cloister itself, carried on a disk: make a bundle, check it, install it, and go back to the version before.",
        None,
        _commands("bundle", "create", "diff", "verify", "install", "rollback", "list", "remove"),
    ),
    "review": Group(
        "Rows that people look at: list them, and decide on them, with your name in the log.",
        None,
        _commands("review", "list", "show")
        | _commands("decide", "accept", "correct", "reject")
        | _commands("review", "sample")
        | _commands("decide", "export", "import"),
    ),
    "console": Group(None, "console.console", _commands("console", "invite", "people", "revoke")),
    "encryption": Group(
        "Encryption of what is kept of documents: make its key, replace it, write a clear copy of a file.",
        None,
        _commands("backup", "new", "rewrap", "decrypt"),
    ),
    "audit": Group(
        "The audit log: what it says, and whether it can be trusted.",
        None,
        {
            **_commands("audit_verify", "verify"),
            **_commands("audit_story", "show", "search", "recall", "replay"),
            **_commands("audit_keep", "hold", "release", "export", "erase"),
            **_commands("audit_verify", "prove", "check"),
            **_commands("doctor", "controls"),
            "key": Group(
                "The key that signs the log: new, show, rotate.", None, _commands("audit_key", "new", "show", "rotate")
            ),
            "witness": Group(None, "audit_keep.witness", _commands("audit_keep", "cosign")),
        },
    ),
}
