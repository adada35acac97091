"""Pages as HTML: the one place where templates are filled. Every text is escaped, and what acts on a screen without
being seen (directions, controls) is written as an escape."""

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

import pipeline
from jobs.console.house import Visit
from jobs.console.page import NAVIGATION
from jobs.visible import CONTROLS, counted, visible

HERE: Final = Path(__file__).parent
STATIC: Final[Mapping[str, tuple[bytes, str]]] = {
    name: ((HERE / "static" / name).read_bytes(), media)
    for name, media in (
        ("console.css", "text/css"),
        ("console.js", "text/javascript"),
        ("document.css", "text/css"),
        ("document.js", "text/javascript"),
        ("icon.svg", "image/svg+xml"),
    )
}
"""Name -> the bytes of a file that pages load, and what it is; there are no others."""
_VERSION: Final = hashlib.sha256(b"".join(data for data, _ in STATIC.values())).hexdigest()[:12]
_SIZES: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


def render(visit: Visit, template: str, *, status: int = 200, **values: Any) -> Response:
    """The page of a template, with the frame that all pages have."""
    frame = {
        "visit": visit,
        "person": visit.person,
        "places": [(path, name) for path, name, right in NAVIGATION if visit.may(right)],
        "here": visit.request.url.path,
        "version": _VERSION,
        "zone": datetime.now().astimezone().tzname(),
        "form_token": visit.session.form_token if visit.session else str,  # str(): none
    }
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(**frame | values), status)


def _seen(value: object) -> object:
    """A text without what acts on a screen unseen; anything else as it is. A line feed stays."""
    return visible(value) if type(value) is str and CONTROLS.search(value) else value


def size(number: int | float | None) -> str:
    """A number of bytes for people."""
    if number is None:
        return ""
    power = 0
    while number >= 1024 and power + 1 < len(_SIZES):
        number, power = number / 1024, power + 1
    return f"{number:,.0f} {_SIZES[power]}" if power == 0 or number >= 100 else f"{number:,.1f} {_SIZES[power]}"


def weekday(night: str | date) -> str:
    """A night with its weekday, as people say it."""
    day = date.fromisoformat(night) if isinstance(night, str) else night
    return f"{day:%a} {day.day} {day:%b}"


def duration(seconds: float | None) -> str:
    """A span of time for people, in its two largest units."""
    if seconds is None:
        return ""
    whole = round(seconds)
    units = (("d", 86400, 10**9), ("h", 3600, 24), ("min", 60, 60), ("s", 1, 60))
    parts = [(name, whole // length % most) for name, length, most in units]
    shown = [f"{number} {name}" for name, number in parts if number][:2]
    return " ".join(shown) or "0 s"


def _time(form: str) -> Callable[[str | datetime | None], str]:
    """A filter for times of the log (UTC), shown as this machine's clock has them; "" for none."""

    def shown(time: str | datetime | None) -> str:
        at = datetime.fromisoformat(time) if isinstance(time, str) and time else time
        return at.astimezone().strftime(form) if isinstance(at, datetime) else ""

    return shown


_ENVIRONMENT: Final = Environment(
    loader=FileSystemLoader(HERE / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_seen,
    auto_reload=False,
)
_ENVIRONMENT.filters |= {
    "size": size,
    "moment": _time("%Y-%m-%d %H:%M"),
    "clock": _time("%H:%M"),
    "until": _time("%a %Y-%m-%d %H:%M"),
    "epoch": lambda seconds: f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}",
    "duration": duration,
    "weekday": weekday,
    "short": lambda sha256: (sha256 or "")[:12],
    "slug": lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-"),  # a class of the stylesheet
    "counted": counted,
    "members_in_words": lambda said: list(pipeline.proof.members_in_words(said)),
    "capitalize_first": lambda text: text[:1].upper() + text[1:],
}
_ENVIRONMENT.globals["remedies"] = {failure.value: failure.remedy for failure in pipeline.Failure}
