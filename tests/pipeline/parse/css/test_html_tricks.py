"""Tricks that hide text in ways that are not computed: none reaches the model without a person who looks at it."""

import json
from pathlib import Path

import pytest

from pipeline.errors import DocumentError

_DATA: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("tricks.json").read_text("utf-8"))
_STYLES = _DATA["styles"]
_PAGES = _DATA["pages"]
_ALL = [
    *(pytest.param(f'<p style="{style}">zebra zebra zebra</p>', id=name) for name, style in _STYLES.items()),
    *(pytest.param(markup, id=name) for name, markup in _PAGES.items()),
]


def test_the_colour_of_links(parse) -> None:
    assert "zebra" not in parse(b"<!doctype html><body link=white>before <a href=x>zebra</a>", "page.html").text


@pytest.mark.parametrize("markup", _ALL)
def test_what_is_not_computed_is_told(parse, markup: str) -> None:
    try:
        parsed = parse(f"<!doctype html><html><body><h6>before</h6>{markup}</body></html>".encode(), "page.html")
    except DocumentError as error:
        pytest.fail(error.reason)
    assert "zebra" not in parsed.text or parsed.unsure
    assert "before" in parsed.text
