"""The page of a night stands by itself, says what came of it, and whatever names say, they are text."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pipeline.reports.markdown import markdown
from pipeline.reports.night import Night
from pipeline.reports.page import page
from tests.pipeline.reports.made import EVIL, night, row, shares

STATES = {"done": 400, "review": 3, "abstained": 2, "failed": 4, "duplicate": 7}


class Strict(HTMLParser):
    """Refuses tags that are not closed, scripts, and whatever would be fetched; keeps links."""

    VOID = frozenset({"meta", "path", "rect", "wbr", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = {name for name, _ in attributes}
        assert tag not in {"script", "link", "img", "iframe", "object", "base", "form"}
        assert not names & {"src", "style"}
        assert not any(name.startswith("on") for name in names)
        self.links += [value or "" for name, value in attributes if name == "href"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def full(**more: object) -> Night:
    rows = {
        "failed": [row(5, "failed", EVIL, reason=EVIL)], "look": [row(6, "review", reason="hidden text")],
        "uncertain": [row(7, "done", f"a/{EVIL}.pdf", answer=EVIL)],
    }  # fmt: skip
    labels = {EVIL: 60, "lease": 340}
    made = shares(STATES, labels=labels, failures={"corrupt": 3, "encrypted": 1})
    earlier = {f"2026-11-{day}": shares({"done": 300 + day, "failed": 3}) for day in range(10, 20)}
    return night(STATES, shares=made, earlier=earlier, **{**rows, **more})


def test_it_is_whole_and_loads_nothing(tmp_path: Path) -> None:
    text = page(full(), tmp_path)
    links = Strict(text).links
    assert links == ["/documents/5", "/documents/6", "/documents/7"], "no original is kept there"
    assert not re.search(r"url\(|@import|https?:|javascript:", text)
    assert "<script" not in text
    assert "&lt;script" in text
    assert not set("\u202e\x1b") & set(text)
    for svg in re.findall(r"<svg.*?</svg>", text, re.S):
        ElementTree.fromstring(svg)
    assert "@page" in text
    assert "counter(page)" in text


def test_no_style_but_its_own_is_let_in(tmp_path: Path) -> None:
    text = page(full(), tmp_path)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'" in text


def test_the_same_night_has_the_same_page(tmp_path: Path) -> None:
    assert page(full(), tmp_path) == page(full(), tmp_path)
    assert markdown(full(), tmp_path) == markdown(full(), tmp_path)


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ({"done": 412}, "All 412 documents were answered; none needs a person."),
        ({"done": 1}, "The one document was answered; none needs a person."),
        ({"done": 403, "review": 4, "abstained": 1, "failed": 4},
         "403 of 412 documents were answered; 9 need a person: 5 to look at, 4 failed."),
        ({"done": 1, "failed": 1}, "1 of 2 documents was answered; 1 needs a person: 1 failed."),
        ({"failed": 2}, "0 of 2 documents were answered; 2 need a person: 2 failed."),
        ({"abstained": 1, "duplicate": 3}, "0 of 1 document were answered; 1 needs a person: 1 to look at."),
        ({"duplicate": 1}, "1 document came again and was known; there was nothing new to answer."),
        ({"duplicate": 3}, "3 documents came again and were known; there was nothing new to answer."),
    ],
)  # fmt: skip
def test_the_verdict_is_one_sentence_whose_counts_add_up(tmp_path: Path, states: dict[str, int], said: str) -> None:
    made = night(states)
    assert made.verdict == said
    assert said in page(made, tmp_path)
    assert f"**{said}**" in markdown(made, tmp_path)
    tiles = re.findall(r"<b>([\d,]+)</b><span>([a-z ]+)", page(made, tmp_path))
    *parts, total, waiting = (int(number.replace(",", "")) for number, _ in tiles)
    assert (sum(parts), waiting) == (total, 0)
    assert total == sum(states.values())


def test_what_waits_because_the_window_closed_is_said() -> None:
    made = night({"done": 4}, waiting=12, window_closed=True)
    assert made.more == ["The window of the last run closed before all was done: 12 files are still waiting."]


def test_what_waits_and_who_stopped_it_is_said(tmp_path: Path) -> None:
    made = night({"done": 4, "duplicate": 1}, waiting=12, stopped=True, notes=["Isolation was less."])
    assert list(made.more) == [
        "1 more was a copy of a document that is known already.",
        "The last run was stopped before it was done: 12 files are still waiting.",
        "Isolation was less.",
    ]
    assert [night({"done": 4}).tone, made.tone, night({"done": 4, "failed": 5}).tone] == ["good", "warn", "bad"]
    assert "still waiting" not in page(night({"done": 4}, waiting=None), tmp_path).split("<h2>")[0]


def test_a_night_unlike_the_others_warns(tmp_path: Path) -> None:
    warned = full()
    assert [drift.what for drift in warned.warnings] == ["labels"]
    assert "Warning: The answers are unlike the nights before" in page(warned, tmp_path)
    assert "**Warning:** The answers are unlike" in markdown(warned, tmp_path)
    alike = night({"done": 300, "failed": 3}, earlier=warned.earlier)
    assert not alike.warnings
    assert "Warning" not in page(alike, tmp_path)
    assert "distance of nights" in page(alike, tmp_path)
    first = page(night({"done": 300}, others=2), tmp_path)
    assert "This night is not compared with others" in first
    assert "2 earlier nights were of other settings" in first


def test_originals_are_linked_where_they_are_kept(tmp_path: Path) -> None:
    kept = tmp_path / "archive" / "sort" / "ab" / ("ab" * 32) / "bytes" / "ä %2e?#.pdf"
    failed = tmp_path / "failed" / "sort" / "post" / "a letter.pdf"
    for file in (kept, failed):
        file.parent.mkdir(parents=True)
        file.write_bytes(b"%PDF")
    made = night({"done": 1, "failed": 1}, failed=[row(5, "failed")], uncertain=[row(7, "done")])
    links = Strict(page(made, tmp_path)).links
    archived = f"../../../archive/sort/ab/{'ab' * 32}/bytes/%C3%A4%20%252e%3F%23.pdf"
    assert links == ["../../../failed/sort/post/a%20letter.pdf", "/documents/5", archived, "/documents/7"]
    assert f"](<{archived}>)" in markdown(made, tmp_path)


def test_nothing_acts_in_markdown(tmp_path: Path) -> None:
    text = markdown(full(), tmp_path)
    assert "<script" not in text.replace("\\<script", "")
    assert not set("\u202e\x1b") & set(text)
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert all(re.fullmatch(r"\| .* \|", line) for line in tables)
