"""The licences of all that a bundle carries: which are permissive, their texts out of the wheels, and their page.

    Apache-2.0 OR (BSD-3-Clause AND MIT)        in SPDX, `AND` binds more than `OR`, `WITH` most

A licence counts as permissive if it stands in PERMISSIVE; of an `OR` one side suffices. Before a licence is added, a
person reads it.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.message import Message
from hashlib import sha256
from html import escape
from typing import Final

from jobs.bundle.create.pages import format_page
from jobs.bundle.create.wheels import Wheel
from jobs.bundle.manifest import MOST_PATH, Content
from jobs.errors import ConfigError, Problem

OVERVIEW: Final = "licences/index.html"
PERMISSIVE: Final = frozenset(
    {
        "0BSD", "AFL-2.1", "Apache-2.0", "BlueOak-1.0.0", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause",
        "BSD-4-Clause-UC", "BSL-1.0", "CC0-1.0", "CNRI-Python", "FTL", "HPND", "HPND-sell-variant", "ICU",
        "IJG", "ISC", "JasPer-2.0", "libpng-2.0", "Libpng", "libtiff", "MIT", "MIT-0", "MIT-CMU", "NCSA",
        "OpenSSL", "PostgreSQL", "PSF-2.0", "Python-2.0", "Python-2.0.1", "SSLeay", "Unicode-3.0",
        "Unicode-DFS-2016", "Unlicense", "W3C", "WTFPL", "X11", "Zlib", "ZPL-2.1",
    }
)  # fmt: skip
# a licence that is not in the list, with an exception that takes its duties away from what is linked with it
PERMISSIVE_PAIRS: Final = frozenset({("GPL-3.0-or-later", "GCC-exception-3.1"), ("GPL-3.0-only", "GCC-exception-3.1")})
_LESS: Final = frozenset({"", "LLVM-exception", "Classpath-exception-2.0", "GCC-exception-3.1"})
"""Exceptions that only take duties away, and none."""
# what is written in old metadata -> its name in SPDX, or a name of its own where SPDX has several for it
STATED: Final = {
    "MIT License": "MIT",
    "The MIT License": "MIT",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "BSD-3-Clause, Apache-2.0, dependency licenses": "BSD-3-Clause AND Apache-2.0",  # texts name what is built in
}
BSD: Final = "BSD License"  # says not which of them; all that Python packages use it for are permissive
_BSD_WORDS: Final = frozenset({"BSD", "BSD License", "New BSD License", "BSD license"})
_OLD: Final = "License :: "
_SIGNS: Final = re.compile(r"[()A-Za-z0-9.+\s-]+")
_LICENCE: Final = re.compile(r"(?:AND|OR)(?![A-Za-z0-9.+-])|([A-Za-z0-9.+-]+)(?:\s+WITH\s+([A-Za-z0-9.+-]+))?")
_MOST = 200  # characters of a statement that is no whole text


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
        remedy = "do without the package; or read its licence, and add it to jobs/bundle/create/licences.py"
        raise ConfigError(Problem("licences", found, "licences such as MIT, BSD and Apache-2.0", remedy))


def licence_texts(wheels: Iterable[Wheel]) -> tuple[list[Licensed], list[Content]]:
    """What each package is under, and the texts. Wheels of a package for several Pythons share the texts that are the
    same."""
    texts, found = dict[str, bytes](), dict[tuple[str, str], tuple[str, set[str]]]()
    for wheel in sorted(wheels, key=lambda one: (one.package, one.version, one.name.file)):
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
    inner = path.removeprefix("licences/")
    return f'<a href="{escape(inner)}">{escape(inner.partition("/")[2])}</a>'


def stated(metadata: Message) -> str:
    """The licence that a package states: an SPDX expression, BSD, or whatever stands there; empty for nothing."""
    if told := metadata.get("License-Expression"):
        return str(told).strip()
    field = str(metadata.get("License") or "").strip()
    classified = [line for line in metadata.get_all("Classifier", []) if line.startswith(_OLD)]
    names = [line.rpartition(" :: ")[2] for line in classified if line.count(" :: ") > 1]
    for told in (field, *([] if len(names) != 1 else names)):
        if told in _BSD_WORDS:
            return BSD
        if (known := STATED.get(told, told)) and is_expression(known):
            return known
    return " ".join((field[:_MOST] or ", ".join(names)).split())


def is_expression(text: str) -> bool:
    """Whether it is an SPDX expression of names that are known here: one of the list, or one that is plainly a name."""
    try:
        found = licences(text)
    except ValueError:
        return False
    return all(name in PERMISSIVE or re.search(r"-\d", name) for name in found)


def is_permissive(text: str) -> bool:
    """Whether a licence, as `stated` tells it, is permissive."""
    if text == BSD:
        return True
    try:
        return _permits(*_read(text))
    except ValueError:
        return False


def licences(text: str) -> set[str]:
    """The names of the licences in an expression. ValueError for what is none."""
    return {name for name, _ in _read(text)[1]}


def _read(text: str) -> tuple[ast.expr, list[tuple[str, str]]]:
    """An SPDX expression as one of Python, in which `_0` is the first licence, and the licences, each with its
    exception. ValueError for what is none."""
    found: list[tuple[str, str]] = []

    def named(part: re.Match[str]) -> str:
        if part[0] in ("AND", "OR"):
            return part[0].lower()
        found.append((part[1], part[2] or ""))
        return f"_{len(found) - 1}"

    try:
        tree = ast.parse(_LICENCE.sub(named, " ".join(text.split())), mode="eval").body
    except SyntaxError:
        tree = ast.Constant(None)
    known = all(isinstance(node, ast.BoolOp | ast.Name | ast.boolop | ast.Load) for node in ast.walk(tree))
    if not known or not _SIGNS.fullmatch(text):
        raise ValueError(f"no expression of licences: {text!r}")
    return tree, found


def _permits(node: ast.expr, found: list[tuple[str, str]]) -> bool:
    if isinstance(node, ast.BoolOp):
        each = [_permits(value, found) for value in node.values]
        return all(each) if isinstance(node.op, ast.And) else any(each)
    assert isinstance(node, ast.Name)
    name, exception = found[int(node.id[1:])]
    return (name in PERMISSIVE and exception in _LESS) or (name, exception) in PERMISSIVE_PAIRS
