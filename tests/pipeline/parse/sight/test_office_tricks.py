"""Tricks that hide text in office files in ways that are not computed: none reaches the model without a person."""

import io

import pytest
from xlsxwriter.workbook import Workbook
from xlsxwriter.worksheet import Worksheet

from pipeline.document import Parsed
from tests.hidden import odf
from tests.hidden import pptx as slides
from tests.hidden import xlsx as sheets
from tests.hidden.docx import _box, _cell, _group, _p, _row, _solid, _table, _vml, docx_document
from tests.hidden.rtf import rtf_document

WORD = "zebra"


def assert_told(parsed: Parsed) -> None:
    """The word is not in the text, or a person must look."""
    assert WORD not in parsed.text or parsed.unsure, parsed.text


_SHAPE = r"{\shp{\*\shpinst\shpleft100\shptop100\shpright5000\shpbottom2000\shpwr2%s{\shptxt %s\par}}}"
_RTF = {
    "indent far to the left": r"\pard\li-30000 zebra\par",
    "first line far to the left": r"\pard\li0\fi-30000 zebra\par",
    "indent beyond the right edge": r"\pard\li20000 zebra\par",
    "no room between indents": r"\pard\ri20000 zebra\par",
    "frame of an exact height": r"\pard\absh-1\absw3000 zebra\par",
    "frame far away": r"\pard\pvpg\phpg\posx30000\posy30000 zebra\par",
    "frame to the left": r"\pard\phpg\posnegx-30000 zebra\par",
    "frame of no width": r"\pard\absw1 zebra\par",
    "raised by a thousand points": r"{\up30000 zebra}",
    "lowered by a thousand points": r"{\dn30000 zebra}",
    "object that is hidden": r"{\object\objemb\objhide{\result zebra}}",
    "relief": r"{\cf1\embo zebra}",
    "outline in white": r"{\outl zebra}",
    "two lines in one": r"{\twoinone1 zebra}",
    "word of tomorrow": r"{\vanishes1 zebra}",
    "line lower than its letters": r"\pard\sl-60\slmult0 zebra\par\pard",
    "row lower than its letters": r"\trowd\trrh-80\cellx5000\pard\intbl zebra\cell\row\pard",
    "cell of no width": r"\trowd\cellx5000\cellx5010\pard\intbl a\cell zebra\cell\row\pard",
    "merged cell": r"\trowd\clvmrg\cellx5000\pard\intbl zebra\cell\row\pard",
    "table left of the page": r"\trowd\trleft-30000\cellx-20000\pard\intbl zebra\cell\row\pard",
    "shape that is hidden": _SHAPE % (r"{\sp{\sn fHidden}{\sv 1}}", WORD),
    "shape that is turned": _SHAPE % (r"{\sp{\sn rotation}{\sv 5898240}}", WORD),
    "shape with a soft edge": _SHAPE % (r"{\sp{\sn softEdge}{\sv 90000}}", WORD),
    "text in the colour of the shape": _SHAPE % (r"{\sp{\sn fillColor}{\sv 16777215}}", r"\cf1 zebra"),
    "shape in front of the text": r"{\shp{\*\shpinst\shpleft0\shptop0\shpright9000\shpbottom9000\shpwr3}}zebra\par",
    "drawing in front of the text": r"{\*\do\dobxpage\dprect\dpx0\dpy0\dpxsize9000\dpysize9000}zebra\par",
    "header of a page that is not there": r"{\headerf zebra\par}",
    "margins wider than the page": r"\margl11900\pard zebra\par",
    "pages of no size": r"\paperw20\pard zebra\par",
    "Arabic letters of half a point": r"{\afs1 zebra}",
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in _RTF.items()])
def test_rtf(parse, body: str) -> None:
    assert_told(parse(rtf_document(body), "file.rtf"))


_DOCX = {
    "outline in white": _p(WORD, "<w14:textOutline w14:w='99999'>" + _solid("FFFFFF") + "</w14:textOutline>"),
    "letters in three dimensions": _p(WORD, "<w14:props3d w14:extrusionH='999'/>"),
    "gradient of letters": _p(WORD, "<w14:textFill><w14:gradFill/></w14:textFill>"),
    "outline of old": _p(WORD, "<w:outline/>"),
    "embossed": _p(WORD, "<w:emboss/>"),
    "fitted text": _p(WORD, "<w:fitText w:val='30'/>"),
    "property of tomorrow": _p(WORD, "<w:vanishToo/>"),
    "raised by 100 points": _p(WORD, "<w:position w:val='200'/>"),
    "line lower than its letters": _p(WORD, "", "<w:spacing w:line='80' w:lineRule='exact'/>"),
    "indented by half a metre": _p(WORD, "", "<w:ind w:left='28000'/>"),
    "no room between indents": _p(WORD, "", "<w:ind w:left='6000' w:right='7000'/>"),
    "first line off the page, centred": _p(WORD, "", "<w:jc w:val='center'/><w:ind w:hanging='20000'/>"),
    "collapsed paragraph": _p(WORD, "", "<w:collapsed/>"),
    "frame at 600 points": _p(WORD, "", "<w:framePr w:hAnchor='margin' w:vAnchor='page' w:x='12000' w:y='100'/>"),
    "frame of no height": _p(WORD, "", "<w:framePr w:h='20' w:hRule='exact' w:x='100' w:y='100'/>"),
    "row lower than its letters": _table(_row(_cell(WORD), properties="<w:trHeight w:val='90' w:hRule='exact'/>")),
    "cell that fits its text": _table(_row(_cell(WORD, "<w:tcFitText/>"))),
    "cell of no width": _table(_row(_cell(WORD, "<w:tcW w:w='5' w:type='dxa'/>"))),
    "cell with wide margins": _table(_row(_cell(WORD, "<w:tcMar><w:left w:w='20000' w:type='dxa'/></w:tcMar>"))),
    "text box at 500 points": _box(WORD, 500, 100, origin="column"),
    "text box below the page": _box(WORD, 100, 500, origin="paragraph"),
    "text box in three dimensions": _box(WORD, 100, 100, fill="<a:scene3d/>"),
    "text box with a soft edge": _box(WORD, 100, 100, fill="<a:effectLst><a:softEdge rad='999999'/></a:effectLst>"),
    "text that is warped": _box(WORD, 100, 100, body="<a:prstTxWarp prst='textFadeUp'/>"),
    "text beyond the end of its box": _box(WORD * 200, 100, 100),
    "box in front of the text": _box("", 0, 0, (600, 700), fill="<a:solidFill><a:srgbClr val='FFFFFF'/></a:solidFill>")
    + _p(WORD),
    "box scaled by its group": _group(WORD, 0).replace("<a:chExt cx='2540000'", "<a:chExt cx='999540000'"),
    "old box at 600 points": _vml(WORD, "position:absolute;margin-left:600pt;margin-top:40pt;width:200pt;height:40pt"),
    "old box of tomorrow": _vml(WORD, "position:absolute;width:200pt;height:40pt;opacity:0"),
    "old box in front of the text": _vml("", "position:absolute;width:600pt;height:700pt;z-index:3") + _p(WORD),
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in _DOCX.items()])
def test_docx(parse, body: str) -> None:
    assert_told(parse(docx_document(body), "letter.docx"))


_LONG = "<a:p/>" * 60
_PPTX = {
    "under the half of a shape": slides._shape(WORD) + slides._panel("FFFFFF", (150, 150, 150, 200)),
    "under two shapes": slides._shape(WORD) + slides._panel("FFFFFF", (150, 150, 100, 200))
    + slides._panel("FFFFFF", (250, 150, 300, 200)),
    "under an ellipse": slides._shape(WORD) + slides._panel("FFFFFF", (0, 0, 700, 500), form="ellipse"),
    "under a table": slides._shape(WORD, box=(250, 200, 200, 40)) + slides._table("a", slides._WHITE, ""),
    "under a gradient": slides._shape(WORD) + slides._panel("FFFFFF", (150, 150, 300, 200)).replace(
        "solidFill", "gradFill"),
    "under part of a picture": slides._shape(WORD) + slides._picture((150, 190, 200, 60)),
    "white on a picture": slides._picture((100, 100, 600, 300)) + slides._shape(WORD, slides._WHITE),
    "white on a gradient": slides._shape(WORD, slides._WHITE, fill="<a:gradFill><a:gsLst/></a:gradFill>"),
    "in a pattern": slides._shape(WORD, "<a:pattFill prst='pct5'/>"),
    "with a white outline": slides._shape(WORD, f"<a:ln w='99999'>{slides._WHITE}</a:ln>"),
    "with a glow": slides._shape(WORD, "<a:effectLst><a:glow rad='9'><a:srgbClr val='FFFFFF'/></a:glow></a:effectLst>"),
    "in three dimensions": slides._shape(WORD, fill="<a:scene3d><a:camera prst='x'/></a:scene3d>"),
    "solid": slides._shape(WORD, fill="<a:sp3d z='9999999'/>"),
    "with a soft edge": slides._shape(WORD, fill="<a:effectLst><a:softEdge rad='999999'/></a:effectLst>"),
    "warped": slides._shape(WORD, body="<a:prstTxWarp prst='textFadeUp'/>"),
    "flat": slides._shape(WORD, body="<a:flatTx z='9'/>"),
    "that may not run out of its shape": slides._shape(WORD).replace("wrap='square'", "vertOverflow='clip'"),
    "cut off by an ellipsis": slides._shape(WORD).replace("wrap='square'", "vertOverflow='ellipsis'"),
    "pushed out of its shape": slides._shape(WORD).replace("wrap='square'", "lIns='99000000'"),
    "below the slide": slides._shape(WORD).replace("<a:p><a:r>", _LONG + "<a:p><a:r>"),
    "mostly off the slide": slides._shape(WORD, box=(-190, 100, 200, 40)),
    "scaled to nothing by its group": slides._group(slides._shape(WORD, box=(0, 0, 100, 40)), (100, 100)).replace(
        "<a:chExt cx='2540000'", "<a:chExt cx='2540000000'"),
    "outside of its group": slides._group(slides._shape(WORD, box=(-400, 0, 100, 40)), (500, 100)),
    "raised by its size": slides._shape(WORD, size="1800' baseline='900000"),
    "indented off the slide": slides._shape(WORD).replace("<a:p><a:r>", "<a:p><a:pPr indent='-51206400'/><a:r>"),
    "in lines of no height": slides._shape(WORD).replace(
        "<a:p><a:r>", "<a:p><a:pPr><a:lnSpc><a:spcPct val='1000'/></a:lnSpc></a:pPr><a:r>"),
    "in lines of 3 points": slides._shape(WORD).replace(
        "<a:p><a:r>", "<a:p><a:pPr><a:lnSpc><a:spcPts val='300'/></a:lnSpc></a:pPr><a:r>"),
    "with a property of tomorrow": slides._shape(WORD, "<a:vanish/>"),
    "of a colour that is inverted": slides._shape(WORD, slides._fill("000000", "<a:inv/>")),
    "in the colour of an unknown cell": slides._table(WORD, "<a:gradFill/>", slides._WHITE),
}  # fmt: skip


@pytest.mark.parametrize("drawn", [pytest.param(drawn, id=name) for name, drawn in _PPTX.items()])
def test_pptx(parse, drawn: str) -> None:
    assert_told(parse(slides.presentation(drawn), "talk.pptx"))


def _picture(book: Workbook, sheet: Worksheet) -> None:
    sheet.write("B3", WORD)
    sheet.insert_image("A1", "a.png", {"image_data": io.BytesIO(slides.png()), "x_scale": 900, "y_scale": 900})


def _chart(book: Workbook, sheet: Worksheet) -> None:
    sheet.write("B3", WORD)
    chart = book.add_chart({"type": "line"})
    chart.add_series({"values": "=Sheet!$A$1:$A$2"})
    sheet.insert_chart("A2", chart)


def _text_box(**options: object) -> sheets.Fill:
    def fill(book: Workbook, sheet: Worksheet) -> None:
        sheet.write("B3", WORD)
        sheet.insert_textbox("A1", "before", options)

    return fill


def _table(book: Workbook, sheet: Worksheet) -> None:
    sheet.add_table("B2:B4", {"style": "Table Style Dark 1", "header_row": False})
    sheet.write("B3", WORD, book.add_format({"font_color": "#222222"}))


def _frozen(book: Workbook, sheet: Worksheet) -> None:
    sheet.write("B30", WORD)
    sheet.freeze_panes(100, 0)
    sheet.set_top_left_cell("A90")


def _lines(book: Workbook, sheet: Worksheet) -> None:
    sheet.write("B3", "a\n\n\n\n\n\n" + WORD, book.add_format({"text_wrap": True}))
    sheet.set_row(2, 12)


_XLSX: dict[str, sheets.Fill] = {
    "under a picture": _picture,
    "under a chart": _chart,
    "under a text box": _text_box(),
    "under a wide text box": _text_box(width=600, height=300, fill={"color": "white"}),
    "in a dark table": _table,
    "above the frozen rows": _frozen,
    "in a row lower than its letters": sheets._row(4),
    "in lines that its row cuts": _lines,
    "indented out of the cell": sheets._cell(indent=100),
    "shrunk": sheets._cell(shrink=True),
    "with an outline": sheets._cell(font_outline=True, font_color="white"),
    "with a shadow": sheets._cell(font_shadow=True),
    "pattern that is not computed": sheets._cell(pattern=6, bg_color="white", fg_color="black", font_color="black"),
    "a rule that may hold": sheets._condition(sheets._always("=LEN($B$3)>1"), font_color="white"),
    "a rule on the day": sheets._condition({"type": "time_period", "criteria": "today"}, font_color="white"),
    "a rule on what is twice there": sheets._condition({"type": "duplicate"}, font_color="white"),
    "a rule on its beginning": sheets._condition(
        {"type": "text", "criteria": "begins with", "value": "z"}, font_color="white"
    ),
    "a rule with a format that may hold": sheets._condition(sheets._always("=LEN($B$3)>1"), num_format=";;;"),
    "a scale of black": sheets._condition({"type": "2_color_scale", "min_color": "black", "max_color": "black"}),
    "a bar of black": sheets._condition({"type": "data_bar", "bar_color": "black"}),
    "a header in a colour of the theme": lambda book, sheet: sheet.set_header(f"&L&K01+099{WORD}"),
}


@pytest.mark.parametrize("fill", [pytest.param(fill, id=name) for name, fill in _XLSX.items()])
def test_xlsx(parse, fill: sheets.Fill) -> None:
    assert_told(parse(sheets.workbook(fill), "book.xlsx"))


_GRAPHIC = '<style:graphic-properties draw:fill="solid" draw:fill-color="#ffffff" {}/>'
_ODT = {
    "outline": 'style:text-outline="true"', "relief": 'style:font-relief="engraved"',
    "two lines in one": 'style:text-combine="lines"', "far above its line": 'style:text-position="900% 100%"',
    "property of tomorrow": 'style:vanish="true"', "Arabic letters of a point": 'style:font-size-complex="1pt"',
    "colour by name": 'fo:color="canvas"',
}  # fmt: skip
_PARAGRAPHS = {
    "indented to the left": 'fo:margin-left="-20cm"', "first line to the left": 'fo:text-indent="-20cm"',
    "lines of no height": 'fo:line-height="0.1cm"', "lines of a few per cent": 'fo:line-height="3%"',
    "indented to the right": 'fo:margin-left="40cm"', "drawn over the line above": 'fo:margin-top="-3cm"',
}  # fmt: skip


@pytest.mark.parametrize("said", [pytest.param(said, id=name) for name, said in _ODT.items()])
def test_odt_letters(parse, said: str) -> None:
    assert_told(parse(odf._odt("trick", odf._SPAN.format(WORD), odf._text(said)).data, "file.odt"))


@pytest.mark.parametrize("said", [pytest.param(said, id=name) for name, said in _PARAGRAPHS.items()])
def test_odt_paragraphs(parse, said: str) -> None:
    style = odf._style(f"<style:paragraph-properties {said}/>", "paragraph", "P")
    assert_told(parse(odf._odt("trick", f'<text:p text:style-name="P">{WORD}</text:p>', style).data, "file.odt"))


_SLIDES = {
    "turned and moved": odf._shape(WORD, more='draw:transform="rotate(1) translate(90cm 90cm)"'),
    "under a part of a shape": odf._shape(WORD) + '<draw:rect draw:style-name="G" svg:x="1cm" svg:y="4cm" '
    'svg:width="4cm" svg:height="5cm"/>',
    "under a picture": odf._shape(WORD) + '<draw:frame svg:x="1cm" svg:y="4cm" svg:width="9cm" svg:height="5cm">'
    "<draw:image/></draw:frame>",
    "at the edge": odf._shape(WORD, "20.9cm"),
    "on a gradient": '<draw:rect draw:style-name="H" svg:x="1cm" svg:y="4cm" svg:width="9cm" svg:height="5cm"/>'
    + odf._shape(WORD),
}  # fmt: skip


@pytest.mark.parametrize("shapes", [pytest.param(shapes, id=name) for name, shapes in _SLIDES.items()])
def test_odp(parse, shapes: str) -> None:
    bare, other = (f'<style:graphic-properties draw:fill="{fill}"/>' for fill in ("none", "gradient"))
    styles = [odf._style(bare, "graphic", "F"), odf._style(_GRAPHIC.format(""), "graphic", "G"),
              odf._style(other, "graphic", "H"),
              odf._text('fo:color="#ffeeee"' if "H" in shapes else 'fo:color="#000000"')]  # fmt: skip
    assert_told(parse(odf._odp("trick", shapes, "".join(styles)).data, "file.odp"))


def test_a_shape_over_the_text_of_a_document(parse) -> None:
    style = odf._style(_GRAPHIC.format('style:wrap="run-through"'), "graphic", "F")
    body = odf._drawn('svg:x="0cm" svg:y="0cm"', "") + f"<text:p>{WORD}</text:p>"
    assert_told(parse(odf._odt("trick", body, style).data, "file.odt"))
