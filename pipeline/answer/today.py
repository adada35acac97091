"""The settings of a job as they are today, known without reading its model's file each time.

state/models.json has what was found of model files when they were read last: their sha256 and what they are for, with
size, times and inode, by which it is known that a file is still that one. It is a cache, and no run goes by it.
"""

import contextlib
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import audit
import engine
from pipeline.answer.heads import with_head
from pipeline.errors import ModelRefusedError
from pipeline.paths.names import file_sha256
from pipeline.plan import RunPlan, Site
from pipeline.records.settings import job_digest
from pipeline.tasks import TEXT, Writing

_NAME: Final = "models.json"
_MOST_BYTES: Final = 1 << 20


def digest_today(plan: RunPlan) -> str:
    """The digest of the settings that a run of this plan would have now. ModelRefusedError where its model or head
    would be refused for what is in the file; OSError where the model cannot be read."""
    sha256, kind = _seen(plan.site, plan.model.path)
    plan = with_head(plan, sha256)
    return job_digest(replace(plan, writing=plan.writing or Writing() if kind == TEXT else None), sha256)


def remembered_sha256(site: Site, model: Path) -> str:
    """The sha256 of a model file, which is read only if it is not the one that was read last. ModelRefusedError,
    OSError."""
    return _seen(site, model)[0]


def _seen(site: Site, model: Path) -> tuple[str, str]:
    """The sha256 of a model file, and what it is for."""
    known, sign = _remembered(site), _sign(model)
    if (told := known.get(model.name)) and told[:-2] == sign:
        return told[-2], told[-1]
    sha256 = file_sha256(model)
    try:
        kind = engine.head_of(model)
    except engine.EngineError as error:
        raise ModelRefusedError(f"model {model.stem}: {error}") from error
    if _sign(model) == sign:
        body = json.dumps({**known, model.name: [*sign, sha256, kind]}, indent=1)
        with contextlib.suppress(OSError):
            audit.write_file_atomically(site.state / _NAME, body.encode())
    return sha256, kind


def _remembered(site: Site) -> dict[str, list[Any]]:
    """What the file has; nothing where there is none, or it is not ours."""
    try:
        path = site.state / _NAME
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            said = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    return {
        name: each
        for name, each in said.items()
        if isinstance(each, list) and len(each) == 6 and all(isinstance(text, str) for text in each[-2:])
    }


def _sign(path: Path) -> list[int]:
    """By what a file is known to be the same. OSError."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
