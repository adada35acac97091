"""Pages of templates: one HTML file without scripts, whose style stands in it, and which loads nothing. The only
jinja2 of the pipeline.

The browser is told to take no style but the one that stands there, by its sha256, and nothing else at all: what got
into a page by a mistake of ours still could not run or fetch anything.
"""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any, Final

from pipeline.pages.text import Html, brief, broken

NOTHING: Final = "\u2013"
_HERE = Path(__file__).parent


def render_page(template: Path, *, title: str, foot: str, **values: Any) -> str:
    """The page of a template: `title` for the browser, `foot` for the foot of each printed page beside its number."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # no command without a page has to load it

    environment = Environment(
        loader=FileSystemLoader([template.parent, _HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters |= _FILTERS
    # The stylesheet, with the words at the foot of each page.
    words = re.sub(r"[^ -~]|[\"\\<>]", lambda found: f"\\{ord(found[0]):x} ", foot)
    sheet = (_HERE / "style.css").read_text(encoding="utf-8")
    style = f'\n{sheet}@page {{ @bottom-left {{ content: "{words}"; }} }}\n'
    source = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return environment.get_template(template.name).render(
        title=title, style=Html(style), style_source=f"sha256-{source}", **values
    )


def number(value: float | None) -> str:
    """A number in groups of three digits."""
    return NOTHING if value is None else f"{value:,.0f}"


def percent(value: float | None) -> str:
    """A share in percent."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def size(value: int | None) -> str:
    """Bytes in MiB."""
    return NOTHING if value is None else f"{value / 2**20:,.1f} MiB"


def moment(text: str) -> str:
    """A time of the log to the second."""
    return text[:19].replace("T", " ")


def _price(value: float) -> str:
    return f"{value:,.3g}"


_FILTERS: Final = {
    "broken": broken,
    "brief": brief,
    "number": number,
    "percent": percent,
    "size": size,
    "moment": moment,
    "price": _price,
}
