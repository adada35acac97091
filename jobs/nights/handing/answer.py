"""What became of a request: a file ID.answer that the service writes and the one who follows it reads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pipeline
from jobs.errors import Ending, ExitCode, Problem
from jobs.nights.handing.request import ANSWER, make_folder, runs_of

_VERSION: Final = 1


@dataclass(frozen=True)
class Answer:
    """`report`: how the run ended; `ending`: why there was none; neither: it is on its way."""

    report: pipeline.RunReport | None = None
    ending: Ending | None = None


def write_answer(site: pipeline.Site, id_: str, answer: Answer) -> None:
    """Write what became of a request, in the place of what was said before. OSError."""
    said: dict[str, Any] = {"v": _VERSION, "report": None, "ending": None}
    if answer.report is not None:
        said["report"] = asdict(answer.report)
    if answer.ending is not None:
        said["ending"] = asdict(answer.ending)
    make_folder(site)
    runs_of(site).leave(f"{id_}{ANSWER}", json.dumps(said, default=str).encode())


def read_answer(site: pipeline.Site, id_: str) -> Answer | None:
    """Read what the service said of a request; None while it has said nothing. ValueError for what it cannot have
    said, or what another version of it said."""
    folder = runs_of(site)
    try:
        left = folder.read(f"{id_}{ANSWER}")
        trusted = {os.geteuid(), 0, folder.path.stat().st_uid}
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(error.strerror) from error
    if left.uid not in trusted:
        raise ValueError(f"it belongs to {left.owner}")
    try:
        said = json.loads(left.whole())
        if said["v"] != _VERSION:
            raise ValueError("another version of Cloister wrote it")
        report, ending = said["report"], said["ending"]
        return Answer(_report(report) if report else None, _ending(ending) if ending else None)
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError("another version of Cloister wrote it") from error


def _report(said: Mapping[str, Any]) -> pipeline.RunReport:
    lists = {name: tuple(map(tuple, said[name])) for name in ("lost", "ignored", "pending", "failed")}
    isolation = said["isolation"]
    return pipeline.RunReport(**{
        **said,
        **lists,
        "parts": tuple(map(Path, said["parts"])),
        "unlike": tuple(said["unlike"]),
        "report": Path(said["report"]) if said["report"] else None,
        "isolation": pipeline.Isolation(isolation["wanted"], tuple(isolation["lacking"])) if isolation else None,
    })  # fmt: skip


def _ending(said: Mapping[str, Any]) -> Ending:
    return Ending(ExitCode(said["code"]), said["message"], tuple(Problem(**each) for each in said["problems"]))
