"""What the command line says of the golden workspace: the questions, and how to ask them in this process."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobs.cli import main

DOCUMENTS = (
    "invoice.txt", "hidden.html", "post.zip", "copy/lease again.txt", "image.png", "broken.pdf", "latin.txt",
    "Anna.txt", "b.txt", "night.jsonl", "night.jsonl!/0000006.json", "short.txt", "M\\xfcller.txt", "killed.txt",
)  # fmt: skip
TINY_BEFORE = "3bd876"
QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("audit", "verify", "--json"),
    *(("audit", "show", document, "--json") for document in DOCUMENTS),
    ("audit", "show", "long.txt"),
    ("audit", "show", "Gustav.txt"),
    ("results", "--json"),
    ("results", "sort", "--settings", "current", "--json"),
    ("results", "--failed"),
    ("results", "fields"),
    ("audit", "search", "--name", "lease", "--json"),
    ("audit", "search", "--outcome", "ignored", "--json"),
    ("audit", "search", "--job", "quiet"),
    ("audit", "recall", "--model", TINY_BEFORE, "--json"),
    ("audit", "recall", "--model", TINY_BEFORE),
    ("status", "--json"),
    ("status",),
)
"""In their order: each is recorded, and a later one may tell of it."""
REPLAY = ("audit", "replay", "--sample", "100%", "--json")
_CHANGES = {"workspace", "log"}
"""What of a status is another thing for each copy: where it lies, and how often it was read."""
_HEAD = 5
"""Lines of a status that say so."""


def ask(root: Path, *arguments: str) -> tuple[int, str]:
    """Run a command in the workspace: its exit code and what it wrote to stdout."""
    stdout, before, folder = io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""), sys.argv, Path.cwd()
    sys.argv = ["cloister", *arguments]
    os.chdir(root)
    try:
        with contextlib.redirect_stdout(stdout):
            main()
    except SystemExit as end:
        stdout.flush()
        return int(end.code or 0), stdout.buffer.getvalue().decode()  # type: ignore[attr-defined]
    finally:
        sys.argv = before
        os.chdir(folder)
    raise AssertionError("a command ends with SystemExit")


def ask_all(root: Path) -> dict[str, Any]:
    """Each question -> exit code and answer, JSON as values; and the verdicts of a replay of all rows."""
    answers = {" ".join(question): _answer(root, question) for question in QUESTIONS}
    return {**answers, " ".join(REPLAY): replay(root)}


def _answer(root: Path, question: Sequence[str]) -> dict[str, Any]:
    code, said = ask(root, *question)
    if "--json" not in question:
        return {"code": code, "said": said.splitlines()[_HEAD if question[0] == "status" else 0 :]}
    answer = json.loads(said)
    if question[0] == "status":
        answer = {key: value for key, value in answer.items() if key not in _CHANGES}
    return {"code": code, "said": answer}


def replay(root: Path) -> dict[str, Any]:
    """Each entry -> the verdict on its row, without what is said of the software, which is another one."""
    code, said = ask(root, *REPLAY)
    return {"code": code, "said": {str(row["entry"]): row["verdict"] for row in json.loads(said)["rows"]}}
