"""Pages as HTML: the one place where templates are filled. Every text is escaped, and what acts on a screen without
being seen (directions, controls) is written as an escape."""

import hashlib
import re
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

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
    places = [each for each in NAVIGATION if visit.may(each.right)]
    frame = {
        "visit": visit,
        "person": visit.person,
        "places": places,
        "here": visit.request.url.path,
        "version": _VERSION,
        "zone": datetime.now().astimezone().tzname(),
        "form_token": visit.session.form_token if visit.session else _no_token,
    }
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(**frame | values), status)


def _no_token() -> str:
    return ""


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


def moment(time: str | None) -> str:
    """A time of the log (UTC) as this machine's clock shows it, to the minute."""
    return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M") if time else ""


def clock(time: str | None) -> str:
    """The time of day of a time of the log, as this machine's clock shows it."""
    return datetime.fromisoformat(time).astimezone().strftime("%H:%M") if time else ""


def weekday(night: str | date) -> str:
    """A night with its weekday, as people say it."""
    day = date.fromisoformat(night) if isinstance(night, str) else night
    return f"{day:%a} {day.day} {day:%b}"


def until(time: datetime | None) -> str:
    """When something is due, as this machine's clock shows it."""
    return f"{time.astimezone():%a %Y-%m-%d %H:%M}" if time else ""


def epoch(seconds: int) -> str:
    """Seconds since 1970 as this machine's clock shows them, to the minute."""
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"


def duration(seconds: float | None) -> str:
    """A span of time for people, in its two largest units."""
    if seconds is None:
        return ""
    whole = round(seconds)
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    parts = [(name, whole // length % (10**9 if name == "d" else _IN[name])) for name, length in units]
    shown = [f"{number} {name}" for name, number in parts if number][:2]
    return " ".join(shown) or "0 s"


_IN: Final = {"h": 24, "min": 60, "s": 60}


def _short(sha256: str | None) -> str:
    return (sha256 or "")[:12]


def _slug(text: str) -> str:
    """A text as a class of the stylesheet."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _capitalized(text: str) -> str:
    """A text with a capital at its beginning; the rest as it is."""
    return text[:1].upper() + text[1:]


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
    "moment": moment,
    "clock": clock,
    "duration": duration,
    "weekday": weekday,
    "until": until,
    "epoch": epoch,
    "short": _short,
    "slug": _slug,
    "counted": counted,
    "capitalize_first": _capitalized,
}
