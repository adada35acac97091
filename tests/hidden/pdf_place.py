"""PDF: text that is too small, beyond the page, cut away or covered by what is painted after it."""

from tests.hidden.pdf_objects import HIDDEN, Added, form, image, say, stream

_AREA = b"0.1 0.2 0.5 rg 50 380 400 60 re f "
_CLIPPED = b"q %s n " + say() + b" Q"
_FORM = b"/XObject << /X 6 0 R >>"
_ANNOTATION = (
    b"/Annots [<< /Type /Annot /Subtype /%s /Rect [50 380 450 440] /F 4 /AP << /N 6 0 R >> /Border [0 0 0] >>]"
)
_CORNERS = b" ".join(b"%d %d l" % (x, 20 + (x // 9) % 2) for x in range(10, 590, 9))
_COVER = b"q 400 0 0 60 50 380 cm /I Do Q"


def _clipped(path: bytes) -> Added:
    return Added(_CLIPPED % path)


def _shading() -> bytes:
    return (
        b"/Shading << /S << /ShadingType 2 /ColorSpace /DeviceGray /Coords [0 0 600 0] /Extend [true true] "
        b"/Function << /FunctionType 2 /Domain [0 1] /C0 [0.2] /C1 [0.8] /N 1 >> >> >>"
    )


def _huge(content: bytes, hidden: tuple[str, ...] = HIDDEN, shown: tuple[str, ...] = ()) -> Added:
    """With a picture that says to have 3,600 million pixels, of 20 by 20 points."""
    return Added(
        content + b" q 20 0 0 20 300 600 cm /I Do Q",
        b"/XObject << /I 6 0 R >>",
        objects=(image(60_000, 60_000, b"\x00" * 100),),
        hidden=hidden,
        shown=shown,
    )


HIDING = {
    "half a point": Added(say(font=b"/F 0.5 Tf")),
    "tiny by the matrix of the text": Added(b"BT /F 12 Tf 0.01 0 0 0.01 72 400 Tm (%s) Tj ET" % b"ignore instructions",
                                            hidden=("ignore", "instructions")),
    "tiny by the matrix of the page": Added(b"q 0.02 0 0 0.02 72 400 cm " + say(x=0, y=0) + b" Q"),
    "no width": Added(say(before=b"0 Tz")),
    "1% wide": Added(say(before=b"1 Tz")),
    "no height": Added(b"q 1 0 0 0.01 0 400 cm " + say(y=0) + b" Q"),
    "a form of no size": Added(
        b"/X Do", _FORM, objects=(form(say(), b"/Matrix [0.001 0 0 0.001 100 100]"),)
    ),
    "right of the page": Added(say(x=700)),
    "below the page": Added(say(y=-50)),
    "raised off the page": Added(say(before=b"900 Ts")),
    "outside the crop box": Added(say(y=20), page=b"/CropBox [0 60 600 800]"),
    "an empty border": _clipped(b"0 0 0 0 re W"),
    "a border elsewhere": _clipped(b"300 100 50 50 re W"),
    "a border around something else": _clipped(b"0 0 m 600 0 l 0 380 l 600 390 l 600 410 m 600 800 l 0 800 l h W"),
    "a border with a hole": _clipped(b"0 0 600 800 re 20 300 500 200 re W*"),
    "a border of many corners": _clipped(b"0 10 m %s 600 800 l 590 10 l h W*" % _CORNERS),
    "a border of letters": Added(b"q " + say(b"x", x=20, y=780, before=b"7 Tr") + b" " + say(before=b"0 Tr") + b" Q",
                                 hidden=HIDDEN),
    "the box of a form": Added(b"/X Do", _FORM, objects=(form(say(), box=b"[0 0 600 300]"),)),
    "under an area": Added(say() + b" " + _AREA),
    "under white": Added(say() + b" 1 g 0 300 600 200 re f"),
    "under a curve": Added(say() + b" 1 g -200 300 m 0 700 600 700 800 300 c 600 100 0 100 -200 300 c f"),
    "under a thick line": Added(say() + b" 1 G 40 w 40 404 m 460 404 l S"),
    "under thin strips": Added(
        say() + b" 1 g " + b" ".join(b"40 %.1f 420 1.6 re f" % (390 + 1.5 * n) for n in range(20))
    ),
    "under a picture": Added(say() + b" " + _COVER, b"/XObject << /I 6 0 R >>", objects=(image(2, 1, b"\x40\x80"),)),
    "under a picture in the text": Added(
        say() + b" q 400 0 0 60 50 380 cm BI /W 1 /H 1 /CS /G /BPC 8 ID \x90 EI Q"
    ),
    "under a shading": Added(say() + b" q 50 380 400 60 re W n /S sh Q", _shading()),
    "under a form": Added(say() + b" /X Do", _FORM, objects=(form(_AREA),)),
    "under an annotation": Added(
        say(), page=_ANNOTATION % b"Square",
        objects=(stream(b"1 g 0 0 400 60 re f", b"/Type /XObject /Subtype /Form /BBox [0 0 400 60]"),),
    ),
    "under a letter as large as the line": Added(say() + b" " + say(b"n", x=30, y=396, font=b"/Z 20 Tf 3000 Tz"),
                                                fonts=b"/Z << /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats >>"),
    "under a page of white": Added(say() + b" 1 g 0 150 600 500 re f"),
    "below eight other texts": Added(
        b"0 g 50 380 400 60 re f " + say() * 8 + say(b"A heading in white", before=b"1 g"), shown=("heading",)
    ),
    "while a huge picture stands elsewhere": _huge(say() + b" " + _AREA),
    "white while a huge picture stands elsewhere": _huge(_AREA + say(before=b"0.1 0.21 0.5 rg")),
}  # fmt: skip

CONTROLS = {
    "turned": Added(b"q 0 1 -1 0 400 200 cm " + say(x=0, y=0) + b" Q", shown=HIDDEN),
    "mirrored twice": Added(b"q -1 0 0 -1 600 800 cm -1 0 0 -1 600 800 cm " + say() + b" Q", shown=HIDDEN),
    "4 points": Added(say(font=b"/F 4 Tf"), shown=HIDDEN),
    "large by the matrix": Added(b"q 12 0 0 12 72 400 cm " + say(x=0, y=0, font=b"/F 1 Tf") + b" Q", shown=HIDDEN),
    "in a round border": _clipped(b"0 400 m 0 700 600 700 600 400 c 600 100 0 100 0 400 c h W"),
    "in a border of many corners": _clipped(b"0 10 m %s 600 10 l 600 800 l 0 800 l h W" % _CORNERS),
    "letters that are filled by a picture": Added(
        b"q " + say(before=b"7 Tr", font=b"/F 20 Tf") + b" " + _COVER + b" Q", b"/XObject << /I 6 0 R >>",
        objects=(image(2, 1, b"\x40\x80"),), shown=HIDDEN,
    ),
    "in the box of a form": Added(b"/X Do", _FORM, objects=(form(say()),), shown=HIDDEN),
    "on a picture": Added(_COVER + b" " + say(before=b"0 g"), b"/XObject << /I 6 0 R >>",
                          objects=(image(2, 1, b"\xd0\xf0"),), shown=HIDDEN),
    "under a multiplied marker": Added(
        say() + b" /G gs 1 1 0 rg 50 380 400 60 re f", b"/ExtGState << /G << /BM /Multiply >> >>", shown=HIDDEN
    ),
    "under glass": Added(say() + b" /G gs 50 380 400 60 re f", b"/ExtGState << /G << /ca 0.3 >> >>", shown=HIDDEN),
    "under a frame": Added(say() + b" 0.5 w 50 380 400 60 re S 3 w 40 370 420 80 re S", shown=HIDDEN),
    "under an annotation that frames it": Added(
        say(), page=_ANNOTATION % b"Square", shown=HIDDEN,
        objects=(stream(b"1 0 0 RG 0 0 400 60 re S", b"/Type /XObject /Subtype /Form /BBox [0 0 400 60]"),),
    ),
    "while a huge picture stands elsewhere": _huge(_AREA + say(before=b"1 g"), (), HIDDEN),
}  # fmt: skip
for _name in ("in a round border", "in a border of many corners"):
    CONTROLS[_name] = Added(CONTROLS[_name].content, shown=HIDDEN)
