"""The report of an export is for people: records in words, and lines that break where people break them."""

import html.parser
import re
from pathlib import Path

import pytest

import audit
import pipeline
from pipeline.pages.text import broken
from tests.pipeline.conftest import make_site
from tests.pipeline.proof.export.logs import document

SHA = "5d" * 32
KEY = "test.example/log+0123abcd+" + "A" * 44
WORD = "Donaudampfschifffahrtsgesellschaft"
PATH = f"Verträge/2026/{WORD} & Söhne/part-20261123T194328Z-1f133d-{'0' * 90}.pdf"
ERASED = {
    "type": "erased", "run": "", "entries": [3, 4, 5], "archive": [], "failed": [], "markdown": [], "parts": [],
    "rows": [{"file": "outbox/sort/part-1.parquet", "part": 6, "sha256": SHA, "entries": [3]}], "reason": "request 7",
}  # fmt: skip
CHANGED = {
    "type": "job.changed", "run": "r", "job": "sort", "before": {"job_digest": SHA, "job_file_sha256": SHA},
    "after": {"job_digest": SHA, "job_file_sha256": SHA},
}  # fmt: skip
ODD = {"type": "of.tomorrow", "run": "", "what": {"list": [{"a": None}, {"b": [True, 2.5]}], "key": KEY}}


class Text(html.parser.HTMLParser):
    """The text of a page between places where a line may break; what may break anywhere is left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.pieces, self.codes, self._in = [""], list[str](), ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in = tag if tag in ("code", "style") else self._in
        self.pieces.append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = "" if tag == self._in else self._in
        self.pieces.append("")

    def handle_data(self, data: str) -> None:
        if self._in == "code":
            self.codes.append(data)
        elif not self._in:
            first, *others = re.split(r"\s+", data)
            self.pieces[-1] += first
            self.pieces += others


@pytest.fixture
def page(tmp_path: Path) -> str:
    site = make_site(tmp_path / "ws")
    with audit.Log.open(site.audit, key_path=site.key_file, public_key=site.public_key) as log:
        log.commit([document(1, path=PATH, reason=f"corrupt: {WORD}", job="sort"), ERASED, CHANGED, ODD])
    pipeline.export(site, tmp_path / "out")
    return (tmp_path / "out/report.html").read_text(encoding="utf-8")


def test_records_are_told_in_words(page: str) -> None:
    words = " ".join(Text(page).pieces)
    assert not set('{}[]"') & set(words)
    assert not re.search(r"\b(None|True|False|null)\b", words)
    whole = re.sub(r"<wbr>", "", page)
    assert "<dt>cannot be opened again</dt><dd>entries 3 to 5</dd>" in whole
    assert f"outbox/sort/part-1.parquet without the rows of entry 3 (sha256 {SHA[:12]}…)" in whole
    assert f"<dt>now</dt><dd>settings {SHA[:12]}…, job file {SHA[:12]}…</dd>" in whole
    assert f"<dd>key <code>{KEY}</code>, list nothing; b yes, 2.5</dd>" in whole
    assert "a document is to be erased (erased)" in whole


def test_digests_break_anywhere_and_words_nowhere(page: str) -> None:
    text = Text(page)
    assert KEY in text.codes
    assert not any(re.search(r"[0-9a-f]{32}", piece) for piece in text.pieces)
    assert WORD in text.pieces
    assert "Verträge/" in text.pieces
    assert max(map(len, text.pieces)) <= 40
    rules = re.findall(r"([^{}]*)\{([^{}]*(?:anywhere|break-all|break-word)[^{}]*)\}", page)
    assert [selector.strip() for selector, _ in rules] == ["code"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ""),
        ("a <b> & c", "a &lt;b&gt; &amp; c"),
        ("correspondence-triage", "correspondence-<wbr>triage"),
        ("name of a file.pdf", "name of a file.pdf"),
        (f"({SHA}),", f"(<code>{SHA}</code>),"),
        ("hmac-sha256:" + SHA, f"<code>hmac-sha256:{SHA}</code>"),
        ("x" * 50, "x" * 40 + "<wbr>" + "x" * 10),
        ("a/../../<script>/b.pdf", "a/../../<wbr>&lt;script&gt;/<wbr>b.<wbr>pdf"),
    ],
)
def test_where_a_line_may_break(text: str, told: str) -> None:
    assert broken(text) == told
