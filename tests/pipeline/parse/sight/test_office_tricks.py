"""Tricks that hide text in office files in ways that are not computed: none reaches the model without a person."""

import pytest

from tests.hidden.rtf import rtf_document

WORD = "zebra"

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


def assert_told(parsed) -> None:
    assert WORD not in parsed.text or parsed.unsure, parsed.text
