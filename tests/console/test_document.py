"""The page of a document: what it shows, what people decide on it, and what it says when that cannot be."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import html

import pipeline
from jobs.console.house import House
from pipeline.records.entries import read_entries
from tests.console.browsing import Answer, Browser, command, entries_of, open_house
from tests.jobs.conftest import INVOICE, LEASE, SORT, Place, held
from tests.pdf_files import pdf, words

FIELDS = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task:
  type: extract
  fields:
    - {{name: total, type: money, description: the total}}
    - {{name: number, type: reference, description: the number of the invoice}}
"""
DIGEST = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: tiny}}
task: {{type: summarize, sentences: 2}}
"""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A workspace with three jobs over the same documents, which have run."""
    root = tmp_path_factory.mktemp("console") / "ws"
    command("init", root, "--origin", "test.example/log")
    shutil.copy(tiny_model, root / "models" / "tiny.gguf")
    place = Place(root)
    for job, text in (("sort", SORT), ("fields", FIELDS), ("digest", DIGEST)):
        place.job(job, text)
        place.drop(job, "a.txt", INVOICE + "Second line.\n")
        place.drop(job, "b.txt", LEASE)
        (root / "inbox" / job / "c.pdf").write_bytes(pdf(words(*LEASE.splitlines(), *INVOICE.split(". "))))
    place.drop("sort", "empty.txt", "")
    command("run", "sort", "fields", "digest", "--workspace", root, code=1)
    return root


@pytest.fixture
def house(filled: Path, tmp_path: Path) -> Iterator[House]:
    """The console of a copy of that workspace."""
    shutil.copytree(filled, tmp_path / "ws")
    house = open_house(tmp_path / "ws")
    yield house
    house.drawer.close()


@pytest.fixture
def ann(house: House) -> Browser:
    return Browser(house, "ann")


def find(house: House, job: str, path: str, *, current: bool = True) -> int:
    with pipeline.index.open_index(house.site) as queue:
        queue.refresh()
        items = queue.page(pipeline.index.Filter(jobs=(job,), current=current), "age", None, 100).items
        return [item.entry for item in items if item.path == path][-1]


def status(answer: Answer) -> str:
    return answer.said("//*[@role='status']")


def test_a_pdf_is_shown_beside_its_answer(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "c.pdf")
    answer = ann.get(f"/documents/{entry}")
    assert answer.status == 200
    assert answer.said("//h1") == "c.pdf"
    page = answer.page
    assert page.xpath("//img/@src") == [f"/documents/{entry}/pages/1.png"]
    numbers = [one.removeprefix("evidence-") for one in page.xpath("//*[name()='svg']//*[name()='a']/@id")]
    assert numbers
    assert sorted(numbers) == sorted({one.get("data-evidence") for one in page.xpath("//*[@data-evidence]")})
    assert {one.get("href") for one in page.xpath("//*[@data-evidence]")} == {f"#evidence-{n}" for n in numbers}
    assert all(page.xpath(f"//*[@id='says-{number}']") for number in numbers)
    assert "style=" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    drawn = ann.get(f"/documents/{entry}/pages/1.png?width=300")
    assert (drawn.status, drawn.headers["content-type"], drawn.body[:8]) == (200, "image/png", b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("address", ["", "/story", "/pages/1.png"])
def test_the_log_says_once_a_session_who_saw_a_document(house: House, address: str) -> None:
    entry = find(house, "sort", "c.pdf")
    for person in (Browser(house, "ann"), Browser(house, "ann")):
        assert person.get(f"/documents/{entry}{address}").status == 200
        assert person.get(f"/documents/{entry}").status == 200
    read = [each for each in read_entries(house.site) if isinstance(each, pipeline.records.ReadThere)]
    assert [(each.person, each.entry) for each in read] == [("Ann", entry)] * 2


def test_a_text_has_its_evidence_marked(house: House, ann: Browser) -> None:
    page = ann.get(f"/documents/{find(house, 'fields', 'a.txt')}").page
    assert page.xpath("//mark")
    assert not page.xpath("//img")
    links = set(page.xpath("//*[@data-evidence]/@href"))
    assert links == {f"#{one}" for one in page.xpath("//*[@class='anchor']/@id")}
    text = "".join(page.xpath("//*[@data-text]//*[@data-start]/text()"))
    assert text == (INVOICE + "Second line.\n").rstrip("\n")
    for element in page.xpath("//*[@data-text]//*[@data-start]"):
        start = int(element.get("data-start"))
        assert (INVOICE + "Second line.\n")[start:].startswith(element.text_content())


def test_the_text_view_of_a_pdf(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "c.pdf")
    page = ann.get(f"/documents/{entry}?view=text").page
    assert page.xpath("//*[@data-text]//mark")
    assert not page.xpath("//img")
    assert page.xpath("//a[@aria-current='page'][text()='Text']")


def test_accepting(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "a.txt")
    answer = ann.send(ann.get(f"/documents/{entry}?job=sort"), "//form[.//button[@value='accepted']]", "accepted")
    assert answer.status == 303
    then = ann.get(answer.headers["location"])
    assert "The document before this one was accepted" in status(then)
    mine = find(house, "sort", "a.txt")
    assert mine > entry
    assert pipeline.review.row_of(house.site, mine)["review"]["by"] == "Ann"
    shown = ann.get(f"/documents/{mine}")
    assert "Accepted by Ann" in shown.words
    assert "accepted the answer of entry" in shown.words
    old = ann.get(f"/documents/{entry}")
    assert f"took the place of this one: entry {mine}" in old.said("//p[@class='hint']")
    assert not old.page.xpath("//button[@value]")


def test_choosing_another_label_with_a_reason(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "a.txt")
    before = pipeline.review.row_of(house.site, entry)["label"]
    other = {"lease": "invoice", "invoice": "lease"}[before]
    page = ann.get(f"/documents/{entry}")
    assert page.page.xpath("//input[@type='radio'][@checked]/@value") == [before]
    answer = ann.send(page, "//form[@id='correct']", "corrected", label=other, reason="it says so")
    assert answer.status == 303
    row = pipeline.review.row_of(house.site, find(house, "sort", "a.txt"))
    assert (row["label"], row["state"], row["review"]["reason"]) == (other, "done", "it says so")
    assert row["review"]["action"] == "corrected"
    assert row["review"]["of"] == entry


def test_marking_other_text_as_a_value(house: House, ann: Browser) -> None:
    entry = find(house, "fields", "a.txt")
    page = ann.get(f"/documents/{entry}")
    start = (INVOICE + "Second line.\n").index("EUR 120.00")
    marked = {"field.total": "EUR 120.00", "field.total.start": str(start), "field.total.end": str(start + 10)}
    answer = ann.send(page, "//form[@id='correct']", "corrected", **marked)
    assert answer.status in (303, 422)
    if answer.status == 422:  # the model had found it there already
        assert "says that already" in answer.said("//*[@role='alert']")
        return
    row = pipeline.review.row_of(house.site, find(house, "fields", "a.txt"))
    (total,) = [each for each in row["fields"] if each["name"] == "total"]
    assert total["value"] == "120.00 EUR"
    assert total["evidence"]["start"] == start


def test_writing_and_emptying_values(house: House, ann: Browser) -> None:
    entry = find(house, "fields", "b.txt")
    page = ann.get(f"/documents/{entry}")
    changed = {"field.total": "17.50 EUR", "field.number": ""}
    answer = ann.send(page, "//form[@id='correct']", "corrected", **changed)
    assert answer.status == 303, answer.said("//*[@role='alert']")
    row = pipeline.review.row_of(house.site, find(house, "fields", "b.txt"))
    assert {each["name"]: each["value"] for each in row["fields"]} == {"total": "17.50 EUR", "number": None}
    page = ann.get(f"/documents/{find(house, 'fields', 'b.txt')}")
    assert ann.send(page, "//form[@id='correct']", "corrected", **{"field.total": "18.00"}).status == 303
    row = pipeline.review.row_of(house.site, find(house, "fields", "b.txt"))
    assert (row["fields"][0]["value"], row["fields"][0]["note"]) == ("18.00 EUR", "EUR is that of the value before")
    assert "EUR is that of the value before" in ann.get(f"/documents/{find(house, 'fields', 'b.txt')}").words


def test_a_value_that_is_none_is_refused_and_kept_in_the_form(house: House, ann: Browser) -> None:
    entry = find(house, "fields", "b.txt")
    page = ann.get(f"/documents/{entry}")
    answer = ann.send(page, "//form[@id='correct']", "corrected", **{"field.total": "a lot", "reason": "as I think"})
    assert answer.status == 422
    assert answer.said("//*[@role='alert']").startswith("It was not taken: total: 'a lot' is no money")
    assert answer.said("//*[@role='alert']").endswith("like 1663.20 GBP")
    assert answer.page.xpath("//input[@name='field.total']/@value") == ["a lot"]
    assert answer.page.xpath("//input[@form='correct'][@name='reason']/@value") == ["as I think"]
    again = ann.send(answer, "//form[@id='correct']", "corrected", **{"field.total": "3.00 EUR"})
    assert again.status == 303


def test_writing_a_summary(house: House, ann: Browser) -> None:
    entry = find(house, "digest", "a.txt")
    page = ann.get(f"/documents/{entry}")
    assert ann.send(page, "//form[@id='correct']", "corrected").status == 422
    page = ann.get(f"/documents/{entry}")
    answer = ann.send(page, "//form[@id='correct']", "corrected", summary="An invoice\r\nof 120 EUR.")
    assert answer.status == 303
    assert pipeline.review.row_of(house.site, find(house, "digest", "a.txt"))["summary"] == "An invoice\nof 120 EUR."


def test_rejecting_takes_a_reason(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "b.txt")
    form = "//form[.//button[@value='rejected']]"
    assert ann.send(ann.get(f"/documents/{entry}"), form, "rejected", reason=" ").status == 422
    answer = ann.send(ann.get(f"/documents/{entry}"), form, "rejected", reason="not ours")
    assert answer.status == 303
    mine = find(house, "sort", "b.txt")
    assert pipeline.review.row_of(house.site, mine)["state"] == "rejected"
    shown = ann.get(f"/documents/{mine}")
    assert "Rejected by Ann" in shown.words
    assert not shown.page.xpath("//button[@value='accepted']")
    assert shown.page.xpath("//button[@value='corrected']")


def test_what_was_decided_already_is_refused(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "a.txt")
    page, form = ann.get(f"/documents/{entry}"), "//form[.//button[@value='accepted']]"
    other = ann.get(f"/documents/{entry}")
    assert ann.send(page, form, "accepted").status == 303
    late = ann.send(other, form, "accepted")
    assert late.status == 422
    assert "It was not taken" in late.said("//*[@role='alert']")
    assert ann.send(page, form, "accepted").status == 409  # the form was sent before


def test_a_decision_waits_while_a_run_holds_the_log(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "a.txt")
    page = ann.get(f"/documents/{entry}")
    with held(Place(house.workspace.root)):
        answer = ann.send(page, "//form[.//button[@value='accepted']]", "accepted")
        assert answer.status == 303
        assert "did=waits" in answer.headers["location"]
        assert "waits for the run that holds the log" in status(ann.get(answer.headers["location"]))
        shown = ann.get(f"/documents/{entry}")
        assert "Ann has accepted this; it waits" in status(shown)
        assert not shown.page.xpath("//button[@value]")
        assert "waits already" in shown.words
    pipeline.review.take_up_reviews(house.site)
    assert not ann.get(f"/documents/{entry}").page.xpath("//*[@role='status']")
    assert pipeline.review.row_of(house.site, find(house, "sort", "a.txt"))["review"]["action"] == "accepted"


def test_next_and_previous_keep_the_filter(house: House, ann: Browser) -> None:
    with pipeline.index.open_index(house.site) as queue:
        queue.refresh()
        order = [item.entry for item in queue.page(pipeline.index.Filter(jobs=("sort",)), "path", None, 50).items]
    for before, here, behind in zip([None, *order], order, [*order[1:], None], strict=False):
        page = ann.get(f"/documents/{here}?job=sort&sort=path").page
        links = {rel: page.xpath(f"//a[@rel='{rel}']/@href") for rel in ("prev", "next")}
        assert links["prev"] == ([] if before is None else [f"/documents/{before}?job=sort&sort=path"])
        assert links["next"] == ([] if behind is None else [f"/documents/{behind}?job=sort&sort=path"])
    form = "//form[.//button[@value='rejected']]"
    answer = ann.send(ann.get(f"/documents/{order[0]}?job=sort&sort=path"), form, "rejected", reason="no")
    assert answer.headers["location"].startswith(f"/documents/{order[1]}?job=sort&sort=path&did=rejected")


def test_failed_and_unknown_documents(house: House, ann: Browser) -> None:
    shown = ann.get(f"/documents/{find(house, 'sort', 'empty.txt')}")
    assert shown.status == 200
    assert shown.said("//p[@class='problem']").startswith("empty")
    assert not shown.page.xpath("//button[@value]")
    assert "no answer to decide on" in shown.words
    assert "What to do: Check whether the right file was sent." in shown.words
    beside = shown.said("//section[@aria-labelledby='view-head']/p[@class='hint']")
    assert beside == "It could not be read: there is no text in it."
    assert ann.get("/documents/0").status == 404
    assert ann.get("/documents/999999").status == 404
    assert ann.get("/documents/x").status == 404
    assert ann.get(f"/documents/{find(house, 'sort', 'a.txt')}/pages/1.png").status == 404


def test_what_is_gone_leaves_a_sentence(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "c.pdf")
    for path in (house.workspace.root / "archive" / "sort").rglob("*.txt"):
        path.unlink()
    shown = ann.get(f"/documents/{entry}?view=text")
    assert shown.status == 200
    assert ann.get(f"/documents/{entry}").page.xpath("//img")
    for path in (house.workspace.root / "outbox" / "sort").glob("*.parquet"):
        path.unlink()
    shown = ann.get(f"/documents/{entry}")
    assert shown.status == 200
    assert "cannot be shown" in shown.words
    assert "no longer there" in shown.words
    (house.workspace.root / "state" / "index.sqlite").write_bytes(b"not an index")
    assert ann.get(f"/documents/{entry}").status == 200


def test_who_may_what(house: House) -> None:
    entry = find(house, "sort", "a.txt")
    rob, ada = Browser(house, "rob"), Browser(house, "ada")
    for path in ("", "/pages/1.png", "/story"):
        assert rob.get(f"/documents/{entry}{path}").status == 403
    shown = ada.get(f"/documents/{entry}")
    assert shown.status == 200
    assert not shown.page.xpath("//form[contains(@action, 'decide')]")
    assert shown.said("//label[contains(@class, 'chosen')]")
    token = html.document_fromstring(shown.text).xpath("//input[@name='token']/@value")[0]
    refused = ada.post(f"/documents/{entry}/decide", {"token": token, "action": "accepted"})
    assert refused.status == 403
    assert find(house, "sort", "a.txt") == entry


def test_strange_forms_are_refused(house: House, ann: Browser) -> None:
    entry = find(house, "fields", "a.txt")
    where = f"/documents/{entry}/decide"

    def token() -> str:
        return str(ann.get(f"/documents/{entry}").page.xpath("//input[@name='token']/@value")[0])

    for form in (
        {}, {"action": "burned"}, {"action": "corrected"}, {"action": "corrected", "field.nothing": "x"},
        {"action": "corrected", "field.total": "1.00 EUR", "field.total.start": "5", "field.total.end": "999999"},
        {"action": "corrected", "field.total": "1.00 EUR", "field.total.start": "5", "field.total.end": "3"},
        {"action": "corrected", "field.total": "1.00 EUR", "field.total.start": "5", "field.total.end": "9"},
        {"action": "rejected", "reason": "x" * 2000}, {"action": "corrected", "label": "lease"},
    ):  # fmt: skip
        answer = ann.post(where, {"token": token(), **form})
        assert answer.status == 422, form
        assert "It was not taken" in answer.said("//*[@role='alert']"), form
    assert ann.post(where, {"action": "accepted"}).status == 403
    assert find(house, "fields", "a.txt") == entry


def test_the_story_and_the_family_are_told(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "a.txt")
    page = ann.get(f"/documents/{entry}")
    assert "sort made its row: done" in page.words
    assert "Copies and other answers" in page.words
    others = page.page.xpath("//section[@aria-labelledby='others-head']//th//a/@href")
    assert others == [f"/documents/{find(house, job, 'a.txt')}" for job in ("fields", "digest")]
    story = ann.get(f"/documents/{entry}/story")
    assert story.status == 200
    assert re.search(r"entry \d+", story.said("//ol[@class='story']"))


def test_every_page_has_one_place_for_each_id_and_labels_for_fields(house: House, ann: Browser) -> None:
    for entry in entries_of(house).values():
        for view in ("", "?view=text"):
            page = ann.get(f"/documents/{entry}{view}").page
            ids = page.xpath("//@id")
            assert len(ids) == len(set(ids))
            for field in page.xpath("//input[not(@type='hidden')] | //textarea | //select"):
                assert field.xpath("ancestor::label") or page.xpath(f"//label[@for='{field.get('id')}']")
            targets = {one[1:] for one in page.xpath("//a/@href") if one.startswith("#")}
            assert targets <= set(ids)


def test_no_page_loads_a_model(house: House, ann: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    import engine

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was opened")

    monkeypatch.setattr(engine, "load_model", refuse, raising=False)
    assert ann.get(f"/documents/{find(house, 'sort', 'c.pdf')}").status == 200
    assert isinstance(house.workspace.root, Path)


def test_a_decision_that_came_too_late_says_so(house: House, ann: Browser) -> None:
    entry = find(house, "sort", "a.txt")
    page, other = ann.get(f"/documents/{entry}"), ann.get(f"/documents/{entry}")
    with held(Place(house.workspace.root)):
        ann.send(page, "//form[.//button[@value='accepted']]", "accepted")
        ann.send(other, "//form[.//button[@value='rejected']]", "rejected", reason="no")
        waits = ann.get(f"/documents/{entry}").page.xpath("//p[@role='status']")
    pipeline.review.take_up_reviews(house.site)
    shown = ann.get(f"/documents/{entry}")
    assert len(waits) in (1, 2)
    assert (len(waits) == 1) or "was refused when it was taken up" in shown.words
