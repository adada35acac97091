"""PowerPoint: slides as pages, with tables, charts, groups, notes and comments."""

import io

from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from pipeline.errors import Failure

P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
MAIN = f"<p:presentation {P} {R}><p:sldIdLst><p:sldId r:id='rId1'/></p:sldIdLst></p:presentation>"
BOX = Inches(1), Inches(1), Inches(4), Inches(2)


def shape(text: str) -> str:
    return f"<p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def saved(made: Presentation) -> bytes:
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def test_a_presentation_of_powerpoint(parse) -> None:
    made = Presentation()
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = "Results"
    first.placeholders[1].text = "good\nbetter"
    first.notes_slide.notes_text_frame.text = "say it slowly"
    made.slides.add_slide(made.slide_layouts[6])
    third = made.slides.add_slide(made.slide_layouts[6])
    table = third.shapes.add_table(2, 2, *BOX).table
    for place in range(4):
        table.cell(place // 2, place % 2).text = f"c{place}"
    data = CategoryChartData()
    data.categories = ["May", "June"]
    data.add_series("Sales", (1.5, 2))
    third.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *BOX, data)
    group = third.shapes.add_group_shape()
    group.shapes.add_textbox(*BOX).text_frame.text = "in a group"
    parsed = parse(saved(made), "x.bin")
    assert parsed.media_type == "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    pages = [parsed.text[a:b] for a, b in zip(parsed.page_starts, [*parsed.page_starts[1:], None], strict=True)]
    assert pages[0] == "Results\n\ngood\nbetter\n\nNotes: say it slowly\n\n"
    assert pages[1] == ""
    assert pages[2] == "c0 | c1\nc2 | c3\n\n | Sales\nMay | 1.5\nJune | 2\n\nin a group"
    assert parsed.page_of(parsed.text.index("in a group")) == 3
    assert "workbooks behind charts not read: 1" in parsed.notes
    assert parsed.section_of(0) == "Results"


def presentation(office, rels, slide: str, **parts: str | bytes) -> bytes:
    return office(
        "pptx",
        {
            "ppt/presentation.xml": MAIN,
            "ppt/_rels/presentation.xml.rels": rels(("slide", "slides/slide1.xml"), ("commentAuthors", "authors.xml")),
            "ppt/authors.xml": f"<p:cmAuthorLst {P}><p:cmAuthor id='0' name='Ann'/></p:cmAuthorLst>",
            "ppt/slides/slide1.xml": f"<p:sld {P} {A} {R}><p:cSld><p:spTree>{slide}</p:spTree></p:cSld></p:sld>",
        }
        | parts,
    )


def test_shapes_unknown_to_libraries_and_comments(parse, office, rels) -> None:
    data = presentation(
        office, rels, f"<p:new>{shape('inside')}</p:new>{shape('x')}",
        **{
            "ppt/slides/_rels/slide1.xml.rels": rels(
                ("comments", "../comments/c.xml"), ("slideLayout", "../layout.xml")
            ),
            "ppt/comments/c.xml": f"<p:cmLst {P}><p:cm authorId='0'><p:text>really?</p:text></p:cm></p:cmLst>",
            "ppt/layout.xml": f"<p:sldLayout {P} {A}>{shape('CONFIDENTIAL')}</p:sldLayout>",
        },
    )  # fmt: skip
    parsed = parse(data)
    assert parsed.text == "inside\n\nx\n\nCONFIDENTIAL\n\nComment (Ann): really?"


def test_pictures_alone_need_ocr(fail, office, rels) -> None:
    assert fail(presentation(office, rels, "")).failure is Failure.EMPTY
    assert fail(presentation(office, rels, "", **{"ppt/media/a.png": b"x"})).failure is Failure.NEEDS_OCR


def test_a_missing_slide_is_corrupt(fail, office) -> None:
    assert fail(office("pptx", {"ppt/presentation.xml": MAIN})).failure is Failure.CORRUPT
