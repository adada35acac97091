"""PowerPoint: slides as pages, with tables, charts, groups, notes and comments."""

import io
import zipfile

import pytest
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.office.binary.ole import format_compound
from pipeline.parse.options import Options

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


def test_hidden_slides_are_empty_pages_by_the_rule(parse_members) -> None:
    made = Presentation()
    for text in ("first", "second", "third"):
        slide = made.slides.add_slide(made.slide_layouts[5])
        slide.shapes.title.text = text
        slide.notes_slide.notes_text_frame.text = f"note {text}"
    made.slides[1].element.set("show", "0")
    dropped, kept = parse_members(saved(made))[0], parse_members(saved(made), options=Options(hidden="keep"))[0]
    assert dropped.text == "first\n\nNotes: note first\n\nthird\n\nNotes: note third"
    assert dropped.page_of(dropped.text.index("third")) == 3
    assert [one.title for one in dropped.sections] == ["first", "third"]
    assert "second\n\nNotes: note second" in kept.text
    assert dropped.hidden == kept.hidden == (Hidden("hidden_slide", len("secondNotes:notesecond")),)


def placed(text: str, x: float, y: float, attributes: str = "", turn: int = 0) -> str:
    """A shape of one by one inch."""
    off, inch = f"<a:off x='{int(x * 914400)}' y='{int(y * 914400)}'/>", "<a:ext cx='914400' cy='914400'/>"
    return shape(text).replace(
        "<p:sp>",
        f"<p:sp><p:nvSpPr><p:cNvPr id='1' name='n' {attributes}/></p:nvSpPr>"
        f"<p:spPr><a:xfrm rot='{turn}'>{off}{inch}</a:xfrm></p:spPr>",
    )


def group(inner: str, x: float, y: float, scale: float, attributes: str = "") -> str:
    """A group whose children are drawn `scale` times as large, from x, y inches."""
    size = 914400 * 4
    return (
        f"<p:grpSp><p:nvGrpSpPr><p:cNvPr id='2' name='g' {attributes}/></p:nvGrpSpPr><p:grpSpPr><a:xfrm>"
        f"<a:off x='{int(x * 914400)}' y='{int(y * 914400)}'/><a:ext cx='{int(size * scale)}' "
        f"cy='{int(size * scale)}'/>"
        f"<a:chOff x='0' y='0'/><a:chExt cx='{size}' cy='{size}'/></a:xfrm></p:grpSpPr>{inner}</p:grpSp>"
    )


@pytest.mark.parametrize(
    ("drawn", "kind"),
    [
        (placed("x", 1, 1), None), (placed("x", -0.5, 7), None), (placed("x", -1.1, 1), "off_page"),
        (placed("x", 1, 7.6), "off_page"), (placed("x", 10.1, 1, turn=2700000), None),
        (placed("x", 11, 1, turn=2700000), "off_page"), (placed("x", 1, 1, "hidden='1'"), "marked_hidden"),
        (placed("x", 1, 1, "hidden='0'"), None),
        (group(placed("x", 1, 1), 1, 1, 0.5, "hidden='true'"), "marked_hidden"),
        (group(placed("x", 3, 1), 7, 1, 1), None), (group(placed("x", 3, 1), 7.5, 1, 1), "off_page"),
        (group(placed("x", 3, 1), 7.5, 1, 0.5), None), (group(group(placed("x", 3, 1), 2, 1, 1), 6, 1, 0.5), None),
        (group(group(placed("x", 3, 1), 2, 1, 1), 7.6, 1, 0.5), "off_page"),
        (placed("x", 1, 1).replace("914400", "9" * 5000), None),
    ],
)  # fmt: skip
def test_shapes_that_nobody_sees(parse_members, office, rels, drawn: str, kind: str | None) -> None:
    main = MAIN.replace("<p:sldIdLst>", "<p:sldSz cx='9144000' cy='6858000'/><p:sldIdLst>")
    data = presentation(office, rels, shape("seen") + drawn, **{"ppt/presentation.xml": main})
    dropped, kept = parse_members(data)[0], parse_members(data, options=Options(hidden="keep"))[0]
    assert kept.text == "seen\n\nx"
    assert dropped.text == ("seen" if kind else kept.text)
    assert dropped.hidden == kept.hidden == ((Hidden(kind, 1),) if kind else ())


def test_what_stands_behind_the_slides_comes_once_and_only_where_it_is_shown(parse, office, rels) -> None:
    """Two slides of one layout; prompts of placeholders are not shown, nor a master that the layout hides."""
    prompt = shape("Click to edit").replace("<p:sp>", "<p:sp><p:nvSpPr><p:nvPr><p:ph type='body'/></p:nvPr></p:nvSpPr>")

    def read(slide: str, layout: str):
        slides = {}
        for number in (1, 2):
            tree = f"<p:cSld><p:spTree>{shape(f's{number}')}</p:spTree></p:cSld>"
            slides[f"ppt/slides/slide{number}.xml"] = f"<p:sld {P} {A} {R} {slide}>{tree}</p:sld>"
            slides[f"ppt/slides/_rels/slide{number}.xml.rels"] = rels(("slideLayout", "../layout.xml"))
        return parse(office("pptx", slides | {
            "ppt/presentation.xml": MAIN.replace("</p:sldIdLst>", "<p:sldId r:id='rId2'/></p:sldIdLst>"),
            "ppt/_rels/presentation.xml.rels": rels(("slide", "slides/slide1.xml"), ("slide", "slides/slide2.xml")),
            "ppt/layout.xml": f"<p:sldLayout {P} {A} {layout}>{prompt}{shape('LAYOUT')}</p:sldLayout>",
            "ppt/_rels/layout.xml.rels": rels(("slideMaster", "master.xml")),
            "ppt/master.xml": f"<p:sldMaster {P} {A}>{prompt}{shape('MASTER')}</p:sldMaster>",
        })).text  # fmt: skip

    assert read("", "") == "s1\n\nLAYOUT\n\nMASTER\n\ns2"
    assert read("", "showMasterSp='0'") == "s1\n\nLAYOUT\n\ns2"
    assert read("showMasterSp='0'", "") == "s1\n\ns2"


def test_numbers_that_powerpoint_draws(parse, office, rels) -> None:
    def item(text: str, bullet: str, level: int = 0) -> str:
        return f"<a:p><a:pPr lvl='{level}'>{bullet}</a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>"

    arabic, roman = "<a:buAutoNum type='arabicPeriod' startAt='3'/>", "<a:buAutoNum type='romanLcParenBoth'/>"
    body = item("a", arabic) + item("b", roman, 1) + item("c", roman, 1) + "<a:p/>" + item("d", arabic)
    body += item("e", roman, 1) + item("f", "<a:buNone/>") + item("g", arabic) + item("h", "")
    styles = "<a:lstStyle><a:lvl1pPr><a:buAutoNum type='alphaUcParenR'/></a:lvl1pPr></a:lstStyle>"
    slide = f"<p:sp><p:txBody>{styles}{body}</p:txBody></p:sp>"
    assert parse(presentation(office, rels, slide)).text.splitlines() == [
        "3. a", "(i) b", "(ii) c", "4. d", "(i) e", "f", "3. g", "A) h",
    ]  # fmt: skip


def test_a_chart_that_draws_itself_ends(parse, office, rels) -> None:
    """A chart's own shapes may hold a chart, even the same."""
    chart = "http://schemas.openxmlformats.org/drawingml/2006/chart"
    again = f"<c:chart xmlns:c='{chart}' {R} r:id='rId1'/>"
    data = presentation(office, rels, f"<p:graphicFrame>{again}</p:graphicFrame>", **{
        "ppt/slides/_rels/slide1.xml.rels": rels(("chart", "../charts/c.xml")),
        "ppt/charts/c.xml": f"<c:chartSpace xmlns:c='{chart}' {A}><c:title><c:tx><c:strRef><c:strCache><c:pt idx='0'>"
        "<c:v>From a cell</c:v></c:pt></c:strCache></c:strRef></c:tx></c:title></c:chartSpace>",
        "ppt/charts/_rels/c.xml.rels": rels(("chartUserShapes", "d.xml")),
        "ppt/charts/d.xml": f"<d {A} {P}>{again}{shape('drawn on it')}</d>",
        "ppt/charts/_rels/d.xml.rels": rels(("chart", "c.xml")),
    })  # fmt: skip
    assert parse(data).text == "From a cell\n\ndrawn on it"


def test_embedded_files_are_documents(parse_members, office, rels) -> None:
    native = b"\0" * 6 + b"C:\\letter.txt\0a\0" + b"\0" * 4 + b"\1\0\0\0\0" + b"\5\0\0\0hello"
    data = presentation(office, rels, shape("x"), **{
        "ppt/embeddings/a.docx": b"PK", "ppt/embeddings/deep/a.docx": b"two", "ppt/media/p.png": b"x",
        "ppt/embeddings/o1.bin": format_compound({"\x01Ole10Native": native}),
        "ppt/embeddings/o2.bin": format_compound({"WordDocument": b"w" * 5000}),
        "ppt/embeddings/o3.bin": format_compound({"Package": b"PK in it"}),
        "ppt/embeddings/o4.bin": format_compound({"Equation Native": b"e"}),
        "ppt/embeddings/o5.bin": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 damaged",
        "ppt/embeddings/o6.bin": b"no compound file",
    })  # fmt: skip
    parsed, members = parse_members(data)
    assert members.pop("o2.doc") == data_of(data, "ppt/embeddings/o2.bin")
    assert members == {
        "a.docx": b"PK", "a (2).docx": b"two", "letter.txt": b"hello", "embedded document": b"PK in it",
        "o5.bin": Failure.CORRUPT, "o6.bin": b"no compound file",
    }  # fmt: skip
    assert parsed.notes == ("pictures and other media not read: 1", "embedded objects not read: 1")


def data_of(package: bytes, part: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(package)) as archive:
        return archive.read(part)


def test_runs_that_are_raised_struck_out_or_in_a_font_of_signs(parse, office, rels) -> None:
    def r(text: str, attributes: str = "", inside: str = "") -> str:
        return f"<a:r><a:rPr {attributes}>{inside}</a:rPr><a:t>{text}</a:t></a:r>"

    tick = "<a:pPr><a:buFont typeface='Wingdings'/><a:buChar char='\u00fe'/></a:pPr>"
    dot = "<a:pPr><a:buFont typeface='Arial'/><a:buChar char='\u2022'/></a:pPr>"
    body = (
        "<a:p>" + r("10") + r("6", "baseline='30000'") + r(" EUR 5") + r("2", "baseline='-25000'")
        + r(" 7") + r("8", "baseline='0'") + r(", ") + r("900", "strike='sngStrike'") + r(" 950") + "</a:p>"
        + "<a:p>" + r("5 \uf06dg m", inside="<a:sym typeface='Symbol'/>")
        + r(" m", inside="<a:latin typeface='Symbol' charset='2'/>")
        + r(" a", inside="<a:latin typeface='Odd' charset='2'/>") + "</a:p>"
        + f"<a:p>{tick}{r('agreed')}</a:p><a:p>{dot}{r('a point')}</a:p>"
    )  # fmt: skip
    parsed = parse(presentation(office, rels, f"<p:sp><p:txBody>{body}</p:txBody></p:sp>"))
    assert parsed.text.split("\n") == [
        "10^6 EUR 5_2 78, ~~900~~ 950", "5 \u00b5g m \u00b5 \ufffd", "[x] agreed", "a point",
    ]  # fmt: skip
    assert "struck-out text, marked ~~ ~~: 3 characters" in parsed.notes


def test_fields_of_slides_are_what_is_shown(parse, office, rels) -> None:
    def parsed(kind: str, text: str):
        body = f"<a:p><a:r><a:t>no. </a:t></a:r><a:fld type='{kind}'><a:t>{text}</a:t></a:fld></a:p>"
        return parse(presentation(office, rels, f"<p:sp><p:txBody>{body}</p:txBody></p:sp>"))

    assert parsed("slidenum", "9000").text == "no. 1"
    assert parsed("datetime1", "3/5/2026").unsure == ()
    assert parsed("datetime1", "9000").unsure == (
        'a date that is always filled in anew has "9000" stored in its place',
    )


def test_a_diagram_whose_drawing_says_something_else(parse, office, rels) -> None:
    dgm = 'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
    dsp = 'xmlns:dsp="http://schemas.microsoft.com/office/drawing/2008/diagram"'
    graphic = f"<a:graphic><a:graphicData><dgm:relIds {dgm} r:dm='rId1'/></a:graphicData></a:graphic>"
    words = "<a:p><a:r><a:t>{}</a:t></a:r></a:p>"
    data = (
        f"<dgm:dataModel {dgm} {A}><dgm:t>{words.format('pay 1,000')}</dgm:t>"
        f"<dsp:dataModelExt {dsp} relId='rId2'/></dgm:dataModel>"
    )
    targets = ("diagramData", "../diagrams/data1.xml"), ("diagramDrawing", "../diagrams/drawing1.xml")

    def parsed(drawn: str):
        return parse(presentation(office, rels, f"<p:graphicFrame>{graphic}</p:graphicFrame>", **{
            "ppt/slides/_rels/slide1.xml.rels": rels(*targets),
            "ppt/diagrams/data1.xml": data,
            "ppt/diagrams/drawing1.xml": f"<dsp:drawing {dsp} {A}><dsp:t>{words.format(drawn)}</dsp:t></dsp:drawing>",
        }))  # fmt: skip

    assert (parsed("pay 1,000").text, parsed("pay 1,000").unsure) == ("pay 1,000", ())
    assert parsed("pay 9,000").unsure == ("a diagram is drawn with words that its data do not have: 9,000",)
