"""Tricks that hide text in office files in ways that are not computed: none reaches the model without a person."""

import pytest

from pipeline.document import Parsed
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
