"""The pages of a source as HTML, which read without a network: links lead from page to page, pictures stand in them.

A link to a file that is not carried, such as one of the code, stays as text. Headings have the anchors that GitHub
gives them, so that links to a part of a page lead there.
"""

import base64
import json
import posixpath
import re
import unicodedata
from hashlib import sha256
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from jobs.bundle.create.source import Source
from jobs.bundle.manifest import Content

INDEX: Final = "pages/index.html"
_FIRST: Final = ("README.md", "jobs/README.md", "configs/README.md")  # what a reader needs first
_CONFIGS: Final = "configs"
_DOCUMENTS: Final = "tests/corpus/demo"
_EXPECTED: Final = f"{_DOCUMENTS}/expected.json"
_MOST = 8  # documents of a job
_LETTERS: Final = str.maketrans({"ß": "ss", "\u0131": "i", "ø": "o", "æ": "ae", "ł": "l"})
_PICTURES: Final = {".png": "image/png", ".jpg": "image/jpeg", ".svg": "image/svg+xml"}
_STYLE: Final = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
_SOURCE: Final = base64.b64encode(sha256(_STYLE.encode()).digest()).decode()
_PAGE: Final = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{source}'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<nav><a href="{up}index.html">All pages</a></nav>
<main>
{body}</main>
</body>
</html>
"""


def make_pages(source: Source) -> list[Content]:
    """All pages of a source but those of its tests, and one that lists them."""
    names = [name for name in source.files if name.endswith(".md") and not name.startswith("tests/")]
    names.sort(key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
    titles, contents = list[tuple[str, str]](), list[Content]()
    for name in names:
        title, body = _render(source, name, frozenset(names))
        path = _path(name)
        titles.append((path, f"{title} ({name})"))
        contents.append(Content(f"pages/{path}", "page", format_page(title, "../" * path.count("/"), body)))
    lines = "".join(f'<li><a href="{escape(path)}">{escape(title)}</a></li>\n' for path, title in titles)
    beside = '<p>Beside them: <a href="../licences/index.html">the licences</a> of all parts, and in the folder sbom/ '
    index = f"<h1>Pages of Cloister</h1>\n<ul>\n{lines}</ul>\n{beside}their list for programs (CycloneDX).</p>\n"
    return [*contents, Content(INDEX, "page", format_page("Pages of Cloister", "", index))]


def _path(name: str) -> str:
    return name.removesuffix(".md") + ".html"


def _render(source: Source, name: str, pages: frozenset[str]) -> tuple[str, str]:
    from markdown_it import MarkdownIt  # no other command has to wait for it

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = parser.parse(source.read(name).decode())
    title = _anchor(tokens) or name
    for token in tokens:
        if token.type == "inline":
            _rewrite(token.children or [], source, name, pages)
    return title, parser.renderer.render(tokens, parser.options, {})


def _anchor(tokens: list[Any]) -> str:
    """Give each heading its anchor; the text of the first one."""
    seen, first = dict[str, int](), ""
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        text = "".join(part.content for part in inline.children if part.type in ("text", "code_inline"))
        first = first or text
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number = seen[slug] = seen.get(slug, -1) + 1
        opening.attrSet("id", f"{slug}-{number}" if number else slug)
    return first


def _rewrite(tokens: list[Any], source: Source, name: str, pages: frozenset[str]) -> None:
    for token in tokens:
        if token.type == "image":
            token.attrSet("src", _picture(source, name, str(token.attrGet("src"))))
        elif token.type == "link_open":
            target = _link(name, str(token.attrGet("href")), pages)
            del token.attrs["href"]
            if target:
                token.attrSet("href", target)


def _link(name: str, target: str, pages: frozenset[str]) -> str:
    """Where a link of a page leads in the bundle; nowhere if what it names is not carried."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return target
    path, hash_, part = unquote(target).partition("#")
    found = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    if found not in pages:
        return ""
    return posixpath.relpath(_path(found), posixpath.dirname(name) or ".") + hash_ + part


def _picture(source: Source, name: str, target: str) -> str:
    """A picture as a data: address, which no browser has to fetch; empty if it is none of the source."""
    found = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(target)))
    kind = _PICTURES.get(posixpath.splitext(found)[1])
    if kind is None or found not in source.files:
        return ""
    return f"data:{kind};base64,{base64.b64encode(source.read(found)).decode()}"


def format_page(title: str, up: str, body: str) -> bytes:
    """A page. `up`: how its folder reaches that of all pages, as "" or "../". `body` is HTML."""
    return _PAGE.format(source=_SOURCE, style=_STYLE, title=escape(title), up=up, body=body).encode()


def make_examples(source: Source) -> list[Content]:
    """jobs/NAME.yaml for each example, and jobs/documents/NAME/ with documents of which something is found."""
    jobs = [name for name in source.below(_CONFIGS, ".yaml") if name.count("/") == 1]
    contents = [Content(f"jobs/{posixpath.basename(name)}", "job", source.read(name)) for name in jobs]
    known = {posixpath.basename(name).removesuffix(".yaml") for name in jobs}
    expected: dict[str, dict[str, Any]] = json.loads(source.read(_EXPECTED) if _EXPECTED in source.files else "{}")
    for job, documents in sorted(expected.items()):
        if job in known:
            done = sorted(name for name, told in documents.items() if told.get("state") == "done")
            there = [name for name in done if f"{_DOCUMENTS}/{job}/{name}" in source.files]
            for name in there[:_MOST]:
                path = f"jobs/documents/{job}/{_plain(posixpath.basename(name))}"
                contents.append(Content(path, "document", source.read(f"{_DOCUMENTS}/{job}/{name}")))
    return contents


def _plain(name: str) -> str:
    """A name of the characters that a bundle allows."""
    bare = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    ascii_ = "".join(sign for sign in bare if not unicodedata.combining(sign))
    return re.sub(r"-+(?=\.)", "", re.sub(r"-*[^A-Za-z0-9._-]+-*", "-", ascii_)).strip("-.")
