"""A command that somebody started from a page: how far it is, and what it said."""

import json

from starlette.responses import Response

from jobs.console.house import Visit
from jobs.console.page import Page
from jobs.console.pages.home import turn
from jobs.console.pages.queue import is_hidden
from jobs.console.refused import RefusedError
from jobs.console.render import render
from jobs.console.rights import Right
from jobs.console.work import Work

_MOST_LINES = 300


def _work(visit: Visit) -> Response:
    work = visit.house.works.get(int(visit.path["number"]))
    asked = Right.OPERATE if work.job else Right.LOG
    if work.person != visit.name and not visit.may(asked):
        raise RefusedError(403, "What others started is shown to those who may start it themselves.")
    hidden = work.job is not None and is_hidden(visit, work.job)
    return render(
        visit,
        "work.html",
        work=work,
        far=work.progress(),
        notes=[] if hidden else _notes(work),
        output="" if hidden else work.output(),
        hidden=hidden,
        turn=turn(visit.house),
    )


def _notes(work: Work) -> list[str]:
    """Return what the command said while it went on, a line each; lines of its log without their JSON."""
    return [_in_words(line) for line in work.notes().splitlines()[-_MOST_LINES:] if line.strip()]


def _in_words(line: str) -> str:
    try:
        said = json.loads(line)
        event, facts = said.pop("event"), {k: v for k, v in said.items() if k not in ("level", "timestamp", "job")}
    except (ValueError, KeyError, AttributeError, TypeError):
        return line
    told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items())
    return f"{event}: {told}" if told else str(event)


PAGES = (Page("/works/{number:int}", _work, Right.LISTS),)
