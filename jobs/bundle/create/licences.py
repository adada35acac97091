"""The licences of all that a bundle carries: their texts out of the wheels, and one page that names them all."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import Final

from jobs.bundle.archive import MOST_PATH
from jobs.bundle.create.page import format_page
from jobs.bundle.create.spdx import is_permissive, stated
from jobs.bundle.create.wheels import Wheel
from jobs.bundle.manifest import Content
from jobs.errors import ConfigError, Problem

OVERVIEW: Final = "licences/index.html"


@dataclass(frozen=True)
class Licensed:
    """A package with the licence that it states, and the paths of its texts in the bundle."""

    name: str
    version: str
    licence: str
    texts: tuple[str, ...]


def check_licences(wheels: Iterable[Wheel]) -> None:
    """ConfigError that names each package whose licence is not known to be permissive."""
    told = {(wheel.package, wheel.version): stated(wheel.metadata) for wheel in wheels}
    refused = [
        f"{name} {version} ({licence or 'it states none'})"
        for (name, version), licence in sorted(told.items())
        if not is_permissive(licence)
    ]
    if refused:
        found = f"not known to be permissive: {', '.join(refused)}"
        remedy = "do without the package; or read its licence, and add it to jobs/bundle/create/spdx.py"
        raise ConfigError(Problem("licences", found, "licences such as MIT, BSD and Apache-2.0", remedy))


def licence_texts(wheels: Iterable[Wheel]) -> tuple[list[Licensed], list[Content]]:
    """What each package is under, and the texts. Wheels of a package for several Pythons share the texts that are the
    same."""
    texts, found = dict[str, bytes](), dict[tuple[str, str], tuple[str, set[str]]]()
    for wheel in sorted(wheels, key=lambda one: (one.package, one.version, str(one.name))):
        _, paths = found.setdefault((wheel.package, wheel.version), (stated(wheel.metadata), set()))
        for name, data in wheel.licence_texts().items():
            path = _place(f"licences/{wheel.package}-{wheel.version}", name, data, texts)
            texts[path] = data
            paths.add(path)
    licensed = [Licensed(*key, licence, tuple(sorted(paths))) for key, (licence, paths) in sorted(found.items())]
    return licensed, [Content(path, "licence", data) for path, data in sorted(texts.items())]


def _place(folder: str, name: str, data: bytes, texts: dict[str, bytes]) -> str:
    """The path of a text in the bundle: its own, or one with its digest where another text has that, or it is long."""
    digest = sha256(data).hexdigest()[:12]
    parts = [part for part in re.sub(r"[^A-Za-z0-9._+/-]", "-", name).split("/") if part.strip(".")]
    for path in (f"{folder}/{'/'.join(parts)}", f"{folder}/{digest}-{parts[-1][-30:]}"):
        if len(path) <= MOST_PATH and texts.get(path, data) == data and not _in_the_way(path, texts):
            return path
    return f"{folder}/{digest}"


def _in_the_way(path: str, texts: Iterable[str]) -> bool:
    """Whether a file would have to be a folder."""
    return any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in texts)


def overview(licensed: Iterable[Licensed], models: Iterable[tuple[str, str]]) -> Content:
    """The page with all licences; `models` are names of models with the licence that their file states."""
    rows = "".join(_rows(licensed, models))
    body = (
        "<h1>Licences</h1>\n<p>What this bundle carries, the licence that each part states of itself, and the texts "
        "that came with it. Texts of a package also cover what was built into it.</p>\n"
        f"<table>\n<thead><tr><th>part</th><th>version</th><th>licence</th><th>texts</th></tr></thead>\n"
        f"<tbody>\n{rows}</tbody>\n</table>\n"
    )
    return Content(OVERVIEW, "licence", format_page("Licences", "../pages/", body))


def _rows(licensed: Iterable[Licensed], models: Iterable[tuple[str, str]]) -> Iterator[str]:
    for one in licensed:
        links = ", ".join(_link(path) for path in one.texts) or "no text in its wheel"
        yield f"<tr><td>{one.name}</td><td>{one.version}</td><td>{escape(one.licence)}</td><td>{links}</td></tr>\n"
    for name, licence in models:
        told = escape(licence) or "its file states none"
        yield f"<tr><td>{escape(name)}</td><td>model</td><td>{told}</td><td></td></tr>\n"


def _link(path: str) -> str:
    """A link from the page, which lies in the same folder."""
    inner = path.removeprefix("licences/")
    return f'<a href="{escape(inner)}">{escape(inner.partition("/")[2])}</a>'
