"""What is asked of every object of a page, beside the same functions of pdfium called through pypdfium2."""

import ctypes
from collections.abc import Callable
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as raw
import pytest
from reportlab.lib.colors import Color
from reportlab.pdfgen.canvas import Canvas

from pipeline.parse.pdf.drawn.painting import boxes_of, may_cross_borders, painting, reach_beyond, states_of
from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.objects import NOWHERE, bounds_of, count_borders, inner_objects_of, objects_of
from tests.pdf_files import pdf


def draw(canvas: Canvas) -> None:
    canvas.beginForm("form")
    for number in range(40):
        canvas.setFillColor(Color(number / 40, 0.5, 0.25, 1 - number / 80))
        canvas.saveState()
        path = canvas.beginPath()
        path.rect(50 + number % 3, 90, 12 + 2.5 * number, 300)
        canvas.clipPath(path, stroke=0)
        canvas.setFont("Helvetica", 4 + number)
        canvas.drawString(60, 100 + 5 * number, f"text {number}")
        canvas.restoreState()
    canvas.endForm()
    canvas.rect(10, 10, 30, 30, fill=1)
    canvas.doForm("form")
    canvas.drawString(70, 700, "outside")


@pytest.fixture
def page() -> Any:
    document = pdfium.PdfDocument(pdf(draw))
    return document[0]


def address(handle: Any) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0


def one_by_one(page: Any) -> list[Any]:
    """Its objects, and those of its forms behind each."""
    found = []
    for place in range(raw.FPDFPage_CountObjects(page)):
        item = raw.FPDFPage_GetObject(page, place)
        found.append(item)
        found += [raw.FPDFFormObj_GetObject(item, inner) for inner in range(max(0, raw.FPDFFormObj_CountObjects(item)))]
    return found


def at_once(page: Any) -> list[tuple[int, int, int]]:
    found = []
    for one in zip(*objects_of(address(page.raw)), strict=True):
        found.append(one)
        if one[2] == raw.FPDF_PAGEOBJ_FORM:
            found += zip(*inner_objects_of(one[0]), strict=True)
    return found


def texts_of(page: Any) -> list[Any]:
    return [item for item in one_by_one(page) if raw.FPDFPageObj_GetType(item) == raw.FPDF_PAGEOBJ_TEXT]


def read(function: Callable[..., int], item: Any, *kinds: Any) -> list[float]:
    out = [kind() for kind in kinds]
    assert function(item, *out)
    return [value.value for value in out]


def bounds(item: Any) -> Rectangle:
    left, bottom, right, top = read(raw.FPDFPageObj_GetBounds, item, *[ctypes.c_float] * 4)
    return left, bottom, right, top


def test_objects_and_what_they_are(page: Any) -> None:
    expected = [
        (address(item), raw.FPDFTextObj_GetTextRenderMode(item), raw.FPDFPageObj_GetType(item))
        for item in one_by_one(page)
    ]
    assert at_once(page) == expected
    assert {kind for _, _, kind in expected} >= {raw.FPDF_PAGEOBJ_TEXT, raw.FPDF_PAGEOBJ_PATH, raw.FPDF_PAGEOBJ_FORM}


def test_states_and_borders_of_texts(page: Any) -> None:
    texts = texts_of(page)
    states, _ = states_of(list(map(address, texts)))
    borders = count_borders(map(address, texts))
    assert len(set(states)) > 30
    assert borders == [raw.FPDFClipPath_CountPaths(raw.FPDFPageObj_GetClipPath(item)) for item in texts]
    for item, state in zip(texts, states, strict=True):
        look = painting(state)
        assert look.colour == tuple(read(raw.FPDFPageObj_GetFillColor, item, *[ctypes.c_uint] * 4))
        assert look.least == look.most == read(raw.FPDFTextObj_GetFontSize, item, ctypes.c_float)[0] ** 2
        assert look.font == address(raw.FPDFTextObj_GetFont(item))
        assert look.mixed == raw.FPDFPageObj_HasTransparency(item)


def test_bounds(page: Any) -> None:
    texts = texts_of(page)
    addresses = [address(item) for item in texts]
    assert [bounds_of(item) for item in addresses] == [bounds(item) for item in texts]
    limit = (55.0, 0.0, 100.0, 250.0)
    expected = [not (box[0] >= 55 and box[1] >= 0 and box[2] <= 100 and box[3] <= 250) for box in map(bounds, texts)]
    assert reach_beyond(boxes_of(addresses), limit) == expected
    assert 0 < sum(expected) < len(expected)


@pytest.mark.parametrize("margin", [15.0, 20.0])
def test_texts_that_cross_their_borders(page: Any, margin: float) -> None:
    texts = [item for item in texts_of(page) if raw.FPDFClipPath_CountPaths(raw.FPDFPageObj_GetClipPath(item)) == 1]
    expected = []
    for item in texts:
        border = raw.FPDFPageObj_GetClipPath(item)
        count = raw.FPDFClipPath_CountPathSegments(border, 0)
        points = [
            read(raw.FPDFPathSegment_GetPoint, raw.FPDFClipPath_GetPathSegment(border, 0, place), *[ctypes.c_float] * 2)
            for place in range(count)
        ]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        left, bottom, right, top = bounds(item)
        inside = (
            min(xs) - margin <= left
            and min(ys) - margin <= bottom
            and right <= max(xs) + margin
            and top <= max(ys) + margin
        )
        expected.append(not inside)
    assert [may_cross_borders(address(item), bounds(item), 1, margin) for item in texts] == expected
    assert 0 < sum(expected) < len(expected)


def test_no_object_gives_no_answer() -> None:
    assert boxes_of([0]) == [NOWHERE]
    assert reach_beyond([NOWHERE], (0.0, 0.0, 1.0, 1.0)) == [True]
    assert may_cross_borders(0, NOWHERE, 1, 0.0)
