"""Models (NAME.gguf) and learned heads (NAME.head), by name and by what is in them: files in models/, and the heads
that travel with the package."""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.errors import ModelRefusedError
from pipeline.heads import BUILTIN, head_files, head_path, read_head
from pipeline.paths.names import file_sha256
from pipeline.plan import Site

MODEL, HEAD = ".gguf", ".head"


def find_file(models: Path, name: str) -> Path:
    """The file of a model or head by the name that a job writes, or by its whole name, as NAME.head, where both are
    there. ModelRefusedError."""
    whole = head_path(models, name.removesuffix(HEAD)) if name.endswith(HEAD) else models / name
    if whole.suffix in (MODEL, HEAD) and "/" not in name and whole.is_file():
        return whole
    found = [path for path in (models / f"{name}{MODEL}", head_path(models, name)) if path.is_file()]
    if "/" in name or not found:
        raise ModelRefusedError(f"there is no model or head {name!r} in {models}; {_near(models, name)}")
    if len(found) > 1:
        raise ModelRefusedError(f"{name!r} is a model and a head; write {name}{MODEL} or {name}{HEAD}")
    return found[0]


def _near(models: Path, name: str) -> str:
    known = [path.name for path in _files(models)]
    known += [path.stem for path in _files(models)]
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else "`cloister model list` shows what is there"


def _files(models: Path) -> Iterator[Path]:
    for path in (*sorted(models.glob(f"*{MODEL}")), *head_files(models)):
        if path.is_file():
            yield path


class Contents:
    """The files of models/ and the heads of the package by their sha256. Each is read once, when it is asked for."""

    def __init__(self, models: Path) -> None:
        self.models = models
        self._known: dict[Path, str] = {}

    def find(self, sha256: str, named: str) -> Path | None:
        """The file with these bytes: the one of this name if it has them, else any of its kind; None if none has."""
        first = self.models / named
        others = (path for path in _files(self.models) if path.suffix == first.suffix and path != first)
        candidates = (path for path in (first, *others) if path.is_file())
        return next((path for path in candidates if self.sha256(path) == sha256), None)

    def sha256(self, path: Path) -> str:
        """The sha256 of a file's bytes. OSError."""
        if path not in self._known:
            self._known[path] = file_sha256(path)
        return self._known[path]


def list_heads(site: Site) -> list[dict[str, Any]]:
    """The facts of every head that a job can name: for which task, on which model, and from how many examples it was
    learned; whether it is one of the package (`packaged`); a bad one has `error` instead."""
    return [_facts(path) for path in head_files(site.models) if path == head_path(site.models, path.stem)]


def _facts(path: Path) -> dict[str, Any]:
    try:
        head = read_head(path)
        about = {"size": path.stat().st_size, "sha256": head.sha256}
    except (ModelRefusedError, OSError) as error:
        return {"name": path.stem, "error": str(error), "packaged": False}
    names = ("kind", "model_name", "model_sha256", "examples")
    packaged = path.parent == BUILTIN
    return {"name": path.stem, **{name: head.facts.get(name) for name in names}, **about, "packaged": packaged}
