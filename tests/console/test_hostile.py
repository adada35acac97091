"""Hundreds of documents and names that try to break out of a page: nothing of them becomes markup, on a page or report.

`python -m tests.console.every_document` looks at all pages of 1,000 of them.
"""

import contextlib
import re
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from lxml import html

import pipeline
from jobs.console.house import House
from tests.console.browsing import Browser, command, open_house
from tests.console.hostile import EVIL, PAYLOADS, PRODUCT, documents
from tests.jobs.conftest import Place
from tests.thorough import ALL

_COUNT = 1000 if ALL else 90
_MOST_OF_A_KIND = 6 if ALL else 2  # pages of one kind that are looked at; of documents, eight times as many
_ALIKE = 2 if ALL else 1  # documents of each job, state and format whose pages are begun with
_ADDRESSES = ("href", "src", "action", "formaction", "srcdoc", "poster", "data", "xlink:href", "background")
_NAMES = """
    html head meta title link script style body a header nav ul ol li form input button select option textarea label
    main footer section h1 h2 h3 h4 p span strong em b i s q code pre kbd mark small sub sup div dl dt dd table caption
    thead tbody tfoot tr th td colgroup col progress meter fieldset legend details summary figure figcaption img svg g
    rect line path polyline polygon circle text tspan desc time hr br wbr abbr article aside noscript defs use template
    datalist output optgroup
"""
_OWN = frozenset(_NAMES.split())
"""Every element that a page of ours has."""


def wrong(body: str, *, scripts: bool) -> list[str]:
    """What a page has that it must not have: elements, attributes, scripts or addresses that came from a document."""
    found = [f"unescaped: {match}" for match in re.findall(rf"<\s*/?\s*{EVIL}[^>]{{0,40}}", body)]
    found += ["a template in a document was filled"] if PRODUCT in body else []
    for element in html.document_fromstring(body).iter():
        if not isinstance(element.tag, str):
            if EVIL in str(element.text):
                found.append(f"a comment {element.text!r}")
            continue
        if element.tag not in _OWN:
            found.append(f"an element <{element.tag}>")
        if element.tag == "script" and not str(element.get("src")).startswith("/static/"):
            found.append(f"a script {element.text!r}")
        for name, value in element.attrib.items():
            if name.startswith("on") or EVIL in name or (scripts and name == "style"):
                found.append(f"an attribute {name}={value!r}")
            if name in _ADDRESSES and not is_own(value):
                found.append(f"an address {name}={value!r}")
    return found


def is_own(address: str) -> bool:
    """Whether an address stays on the page's own origin, by every way of reading it."""
    split = urlsplit(address.strip().replace("\\", "/"))
    return not split.scheme and not split.netloc and not address.strip().startswith(("//", "\\"))


SORT = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}, hidden: review}}
model: {{name: tiny}}
task:
  type: classify
  threshold: 0.0
  labels:
    - {{name: '<x-evil>', description: "a lease of a flat: landlord, tenant"}}
    - {{name: '" onmouseover="x-evil()', description: "an invoice: total due"}}
    - {{name: "'</textarea><x-evil>", description: "a note"}}
"""
DIGEST = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}, hidden: keep}}
model: {{name: tiny}}
task: {{type: summarize, sentences: 2}}
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Iterator[House]:
    """A workspace in which so many of them were answered, some of them by people."""
    root = tmp_path_factory.mktemp("hostile") / "ws"
    command("init", root, "--origin", "test.example/log")
    (root / "models" / "tiny.gguf").write_bytes(tiny_model.read_bytes())
    place = Place(root)
    place.job("sort", SORT)
    place.job("digest", DIGEST)
    for number, (name, data) in enumerate(documents(_COUNT)):
        (root / "inbox" / ("sort" if number % 3 else "digest") / name).write_bytes(data)
    command("run", "sort", "digest", "--workspace", root, code=1)
    house = open_house(root)
    yield house
    house.drawer.close()


def decide(house: House) -> None:
    """People reject and correct with reasons that are markup, too."""
    with pipeline.index.open_index(house.site) as queue:
        queue.refresh()
        items = [
            *queue.page(pipeline.index.Filter(jobs=("sort",), states=("done", "review")), "score", None, 15).items,
            *queue.page(pipeline.index.Filter(jobs=("digest",), states=("done",)), "age", None, 8).items,
        ]
    for item, payload in zip(items, PAYLOADS, strict=False):
        if item.job == "digest":
            review = pipeline.Review(item.job, item.entry, "corrected", payload, payload, {"summary": payload})
        else:
            review = pipeline.Review(item.job, item.entry, "rejected", f"Ann {EVIL}", payload)
        with contextlib.suppress(pipeline.tasks.ReviewRefusedError):  # of some of these names
            pipeline.decide(house.site, review)


def pages_of(browser: Browser, start: list[str]) -> Iterator[tuple[str, str]]:
    """Every page that links lead to, as far as there are not too many of a kind, and its HTML."""
    waiting, met, kinds = deque(start), set(start), Counter[str]()
    while waiting:
        path = waiting.popleft()
        kind = re.sub(r"\d+|=[^&]*|/[0-9a-zA-Z_-]{20,}", "", path)
        if not ALL and "view" not in kind:  # whichever list a document was come to from
            kind = re.sub(r"(?<=/documents/)\?.*", "?", kind)
        most = 8 * _MOST_OF_A_KIND if kind == "/documents/" else _MOST_OF_A_KIND
        kinds[kind] += 1
        if kinds[kind] > most:
            continue
        answer = browser.get(path)
        assert answer.status in (200, 404), (path, answer.words)
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        yield path, answer.text
        for link in answer.page.xpath("//a/@href"):
            assert is_own(link), (path, link)
            there = urljoin(path, link).partition("#")[0]
            if there not in met:
                met.add(there)
                waiting.append(there)


def test_the_check_sees_what_it_is_to_see() -> None:
    bad = 0
    for payload in PAYLOADS:
        for page in (f"<p>{payload}</p>", f'<input value="{payload}">', f"<p title='{payload}'></p>"):
            bad += bool(wrong(f"<!doctype html><html><body>{page}</body></html>", scripts=True))
    assert bad > 2 * len(PAYLOADS)
    assert wrong("<p><a href='javascript:x'>x</a></p>", scripts=True)
    assert wrong("<p style='x'>x</p>", scripts=True)
    assert not wrong("<p class=text>&lt;x-evil&gt; &quot; onload=x</p>", scripts=True)


def test_nothing_of_them_is_markup_on_any_page(hostile: House) -> None:
    decide(hostile)
    with pipeline.index.open_index(hostile.site) as queue:
        queue.refresh()
        items = queue.page(pipeline.index.Filter(current=False), "age", None, 3 * _COUNT).items
    assert len(items) >= _COUNT
    kinds: dict[tuple[str, str, str], list[int]] = {}
    for item in items:
        kinds.setdefault((item.job, item.state, item.path.rpartition(".")[2][:4]), []).append(item.entry)
    some = [entry for entries in kinds.values() for entry in entries[:_ALIKE]]
    start = ["/", "/queue", *(f"/documents/{entry}{view}" for entry in some for view in ("", "?view=text"))]
    looked = 0
    for name in ("ann", "ada", "rob"):
        browser = Browser(hostile, name)
        for path, body in pages_of(browser, start if name == "ann" else ["/", "/queue"]):
            assert wrong(body, scripts=True) == [], (name, path)
            looked += 1
    assert looked > 60


def test_forms_that_come_back_hold_what_was_sent_as_text(hostile: House) -> None:
    browser = Browser(hostile, "ann")
    with pipeline.index.open_index(hostile.site) as queue:
        queue.refresh()
        (item,) = queue.page(pipeline.index.Filter(jobs=("digest",), states=("done",)), "newest", None, 1).items
    for payload in PAYLOADS:
        page = browser.get(f"/documents/{item.entry}")
        form = "//form[.//button[@value='rejected']]"
        answer = browser.send(page, form, "rejected", reason=payload + " " * 3 + "x" * 1000)
        assert answer.status == 422
        assert wrong(answer.text, scripts=True) == []
        asked = browser.get(
            f"/documents/{item.entry}?" + f"text={payload}&job={payload}&sort={payload}".replace(" ", "+")
        )
        assert wrong(asked.text, scripts=True) == []


def test_nothing_of_them_is_markup_in_any_report(hostile: House, tmp_path: Path) -> None:
    root = hostile.workspace.root
    command("audit", "export", tmp_path / "export", "--workspace", root)
    reports = [*root.glob("outbox/**/*.html"), *(tmp_path / "export").rglob("*.html")]
    assert reports
    for report in reports:
        body = report.read_text()
        assert EVIL in body or report.name != "report.html", report
        assert wrong(body, scripts=False) == [], report
