"""A document is shown as the log proves it; what is gone, altered or cannot be drawn leaves a sentence in its place."""

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from pipeline import RunPlan, Site, erase, run
from pipeline.records.entries import read_entries
from pipeline.records.types import Document
from pipeline.view.drawer import Drawer
from pipeline.view.png import png
from pipeline.view.viewed import NotShownError, Viewed, draw_page, open_document
from tests.hidden import FAMILIES
from tests.hidden.base import Technique
from tests.pdf_files import pdf, words
from tests.pipeline.conftest import Witness

Drop = Callable[[str, bytes | str], Path]
LEASE = ("The landlord leases the flat to the tenant.", "The rent is due on the first of the month.")


@pytest.fixture
def look(plan: RunPlan) -> Iterator[Callable[[str], Viewed]]:
    """Run the job, and open the document of a path."""
    with Drawer(plan.site, 1) as drawer:

        def opened(path: str) -> Viewed:
            return open_document(plan.site, entry_of_path(plan.site, path), drawer)

        yield opened


def entry_of_path(site: Site, path: str) -> int:
    return [each.n for each in read_entries(site) if isinstance(each, Document) and each.path == path][-1]


def go(plan: RunPlan) -> None:
    run(plan, observer=Witness())


def test_a_pdf_has_pages_and_marks(plan: RunPlan, drop: Drop, look: Callable[[str], Viewed]) -> None:
    drop("lease.pdf", pdf(words(*LEASE), words("Page two", *LEASE)))
    go(plan)
    found = look("lease.pdf")
    assert (found.kind, len(found.sizes), found.why_not, found.no_row, found.no_text) == ("pdf", 2, None, None, None)
    assert found.row
    assert found.row["state"] == "done"
    assert found.text.startswith("The landlord")
    assert found.places
    assert {mark.number for mark in found.marks} == {place.number for place in found.places}
    assert {mark.page for mark in found.marks} == {place.page for place in found.places}
    assert found.page_of(0) == 1
    assert found.page_of(len(found.text) - 1) == 2
    with Drawer(plan.site, 1) as drawer:
        drawn = draw_page(plan.site, found.entry.n, 2, 500, drawer)
        picture = Image.open(io.BytesIO(drawn.png))
        assert picture.size == (drawn.width, drawn.height) == (500, 707)
        assert picture.convert("L").getextrema()[0] < 100
        with pytest.raises(NotShownError, match="page 3"):
            draw_page(plan.site, found.entry.n, 3, 500, drawer)


def test_a_text_has_none(plan: RunPlan, drop: Drop, look: Callable[[str], Viewed]) -> None:
    drop("lease.txt", "\n".join(LEASE))
    go(plan)
    found = look("lease.txt")
    assert (found.kind, found.sizes, found.marks, found.why_not) == ("text", (), (), None)
    assert all(found.text[place.start : place.end] == place.text for place in found.places)


def test_an_entry_that_is_no_documents(plan: RunPlan, drop: Drop, look: Callable[[str], Viewed]) -> None:
    drop("lease.txt", "\n".join(LEASE))
    go(plan)
    with Drawer(plan.site, 1) as drawer:
        for number in (0, 10_000):
            with pytest.raises(LookupError, match="entry"):
                open_document(plan.site, number, drawer)


def test_what_is_gone_or_altered_is_said(plan: RunPlan, drop: Drop, look: Callable[[str], Viewed]) -> None:
    drop("lease.pdf", pdf(words(*LEASE)))
    go(plan)
    whole = look("lease.pdf")
    (text,) = plan.archive.rglob("text/*.txt")
    text.write_text("The landlord pays the tenant.")
    found = look("lease.pdf")
    assert found.text == ""
    assert "is not the text that was answered" in (found.no_text or "")
    text.unlink()
    assert "not in archive/sort/ any more" in (look("lease.pdf").no_text or "")
    (data,) = [path for path in plan.archive.rglob("bytes/*") if path.is_file()]
    data.write_bytes(pdf(words("another")))
    found = look("lease.pdf")
    assert found.sizes == ()
    assert "other bytes than those that were processed" in (found.why_not or "")
    data.unlink()
    assert "not in archive/sort/ or failed/sort/ any more" in (look("lease.pdf").why_not or "")
    part = plan.site.root / whole.entry.part
    data = part.read_bytes()
    part.write_bytes(data[:-100] + b"0" * 100)
    assert look("lease.pdf").row is None
    assert "cannot be shown" in (look("lease.pdf").no_row or "")
    part.unlink()
    assert "no longer there" in (look("lease.pdf").no_row or "")


def test_failed_documents_say_why_and_are_drawn_where_they_can_be(
    plan: RunPlan, drop: Drop, look: Callable[[str], Viewed]
) -> None:
    blank = io.BytesIO()
    Image.new("RGB", (60, 40), "white").save(blank, "PNG")
    drop("scan.png", blank.getvalue())
    drop("locked.pdf", pdf(words("x"), encrypt="secret"))
    drop("empty.txt", "")
    go(plan)
    scan = look("scan.png")
    assert scan.entry.state == "failed"
    assert (scan.kind, scan.sizes) == ("picture", ((60.0, 40.0),))
    assert (scan.no_text or "").startswith("it could not be read: ")
    locked = look("locked.pdf")
    assert (locked.sizes, locked.why_not) == ((), None)
    assert "locked with a password" in (locked.no_text or "")
    assert "no text in it" in (look("empty.txt").no_text or "")


def test_a_copy_leads_to_what_it_is_a_copy_of(plan: RunPlan, drop: Drop, look: Callable[[str], Viewed]) -> None:
    drop("a.pdf", pdf(words(*LEASE)))
    drop("b.pdf", pdf(words(*LEASE)))
    go(plan)
    copy = look("b.pdf")
    assert copy.entry.state == "duplicate"
    assert "copy of a.pdf" in (copy.no_text or "")
    assert len(copy.sizes) == 1


def _hiding() -> list[tuple[str, Technique]]:
    """A technique of each kind of document that is read by another parser."""
    wanted = {"docx", "pptx", "xlsx", "html", "pdf", "odf", "rtf", "characters"}
    return [(family, next(one for one in FAMILIES[family]() if one.hidden)) for family in sorted(wanted)]


@pytest.mark.parametrize("mode", ["drop", "keep"])
def test_hidden_text_is_shown_as_hidden(plan: RunPlan, drop: Drop, look: Callable[[str], Viewed], mode: str) -> None:
    techniques = _hiding()
    for family, technique in techniques:
        drop(f"{family}-{technique.file_name}", technique.data)
    changed = replace(plan, input=replace(plan.input, hidden=mode))
    go(changed)
    for family, technique in techniques:
        found = look(f"{family}-{technique.file_name}")
        told = "".join(one.text for one in (*found.hidden, *found.elsewhere))
        assert technique.hidden[0] in told, (family, found)
        assert (technique.hidden[0] in found.text) == (mode == "keep"), (family, found.text)
        for one in found.hidden:
            assert found.text[one.at : one.end] == (one.text if mode == "keep" else ""), family
        assert not found.elsewhere, (family, found.elsewhere)


def test_an_erased_document_is_not_shown(plan: RunPlan, drop: Drop, look: Callable[[str], Viewed]) -> None:
    private = replace(plan, private=True)
    drop("lease.pdf", pdf(words(*LEASE)))
    drop("other.txt", "\n".join(LEASE))
    go(private)
    number = look("lease.pdf").entry.n
    erase(plan.site, "lease.pdf", "asked for", archive=True, rows=True)
    with Drawer(plan.site, 1) as drawer:
        found = open_document(plan.site, number, drawer)
    assert (found.row, found.text, found.sizes) == (None, "", ())
    assert "erased" in (found.no_row or "")


def test_png_files_are_those_pixels() -> None:
    rgb = bytes(range(256)) * 3
    assert Image.open(io.BytesIO(png(16, 16, rgb))).tobytes() == rgb
    with pytest.raises(ValueError, match="pixels"):
        png(16, 17, rgb)
