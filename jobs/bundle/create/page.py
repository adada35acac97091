"""The frame around each page of a bundle: HTML that loads nothing, with a style of its own, for screen and paper."""

import base64
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Final

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


def format_page(title: str, up: str, body: str) -> bytes:
    """A page. `up`: how its folder reaches that of all pages, as "" or "../". `body` is HTML."""
    return _PAGE.format(source=_SOURCE, style=_STYLE, title=escape(title), up=up, body=body).encode()
