"""Presentations that hide text, and presentations that only look as if they did."""

import struct
import zlib

from tests.hidden.base import Technique
from tests.hidden.packages import OFFICE, THEME, package, relations

HIDDEN, SHOWN = "zebra", "before"
_SPACES = (
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    f'xmlns:r="{OFFICE}/relationships"'
)
_EMU = 12700
_ENDS = {"l": 0, "t": 0, "r": 0, "b": 0}
Box = tuple[int, int, int, int]
_HERE: Box = (200, 200, 200, 40)


def _fill(colour: str, change: str = "") -> str:
    kind = "srgbClr" if len(colour) == 6 and not colour.startswith("accent") else "schemeClr"
    return f"<a:solidFill><a:{kind} val='{colour}'>{change}</a:{kind}></a:solidFill>"


def _shape(
    text: str, run: str = "", size: str = "1800", fill: str = "<a:noFill/>", box: Box | None = _HERE,
    form: str = "rect", body: str = "", styles: str = "", attributes: str = "", placeholder: str = "",
    number: int = 7, link: str = "",
) -> str:  # fmt: skip
    """A shape at x, y, width and height in points; `run` are the properties of its text."""
    place = "" if box is None else (
        f"<a:xfrm><a:off x='{box[0] * _EMU}' y='{box[1] * _EMU}'/><a:ext cx='{box[2] * _EMU}' cy='{box[3] * _EMU}'/>"
        "</a:xfrm>"
    )  # fmt: skip
    geometry = f"<a:prstGeom prst='{form}'><a:avLst/></a:prstGeom>" if box else ""
    sized = f"sz='{size}'" if size else ""
    letters = f"<a:p><a:r><a:rPr lang='en' {sized}>{run}{link}</a:rPr><a:t>{text}</a:t></a:r></a:p>"
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr id='{number}' name='s' {attributes}/><p:cNvSpPr/><p:nvPr>{placeholder}</p:nvPr>"
        f"</p:nvSpPr><p:spPr>{place}{geometry}{fill}</p:spPr><p:txBody><a:bodyPr wrap='square'>{body}</a:bodyPr>"
        f"<a:lstStyle>{styles}</a:lstStyle>{letters if text else '<a:p/>'}</p:txBody></p:sp>"
    )


def _panel(colour: str, box: Box, change: str = "", form: str = "rect") -> str:
    return _shape("", fill=_fill(colour, change), box=box, number=9, form=form)


def _picture(box: Box) -> str:
    return (
        "<p:pic><p:nvPicPr><p:cNvPr id='8' name='p'/><p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill>"
        "<a:blip r:embed='rId2'/><a:stretch><a:fillRect/></a:stretch></p:blipFill><p:spPr><a:xfrm>"
        f"<a:off x='{box[0] * _EMU}' y='{box[1] * _EMU}'/><a:ext cx='{box[2] * _EMU}' cy='{box[3] * _EMU}'/></a:xfrm>"
        "<a:prstGeom prst='rect'><a:avLst/></a:prstGeom></p:spPr></p:pic>"
    )


def _table(text: str, fill: str, run: str, attributes: str = "") -> str:
    cell = (
        f"<a:txBody><a:bodyPr/><a:lstStyle/><a:p><a:r><a:rPr lang='en' sz='1800'>{run}</a:rPr><a:t>{text}</a:t></a:r>"
    )
    first = "<a:txBody><a:bodyPr/><a:lstStyle/><a:p><a:r><a:rPr lang='en'/><a:t>after</a:t></a:r></a:p></a:txBody>"
    width = 200 * _EMU
    return (
        "<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id='6' name='t'/><p:cNvGraphicFramePr/><p:nvPr/>"
        f"</p:nvGraphicFramePr><p:xfrm><a:off x='{width}' y='{width}'/><a:ext cx='{2 * width}' cy='508000'/></p:xfrm>"
        "<a:graphic><a:graphicData uri='http://schemas.openxmlformats.org/drawingml/2006/table'><a:tbl><a:tblPr/>"
        f"<a:tblGrid><a:gridCol w='{width}'/><a:gridCol w='{width}'/></a:tblGrid><a:tr h='508000'>"
        f"<a:tc {'gridSpan=' + chr(39) + '2' + chr(39) if attributes else ''}>{first}<a:tcPr/></a:tc>"
        f"<a:tc {attributes}>{cell}</a:p></a:txBody><a:tcPr>{fill}</a:tcPr></a:tc></a:tr></a:tbl></a:graphicData>"
        "</a:graphic></p:graphicFrame>"
    )


def _group(inner: str, off: tuple[int, int], attributes: str = "") -> str:
    return (
        f"<p:grpSp><p:nvGrpSpPr><p:cNvPr id='5' name='g' {attributes}/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>"
        f"<p:grpSpPr><a:xfrm><a:off x='{off[0] * _EMU}' y='{off[1] * _EMU}'/><a:ext cx='2540000' cy='508000'/>"
        f"<a:chOff x='0' y='0'/><a:chExt cx='2540000' cy='508000'/></a:xfrm></p:grpSpPr>{inner}</p:grpSp>"
    )


_WHITE = _fill("FFFFFF")
_DARK = _fill("1F497D")
_AROUND: Box = (150, 150, 400, 200)
_BODY = "<p:ph type='body' idx='1'/>"
_SLIDES = {
    "white": _shape(HIDDEN, _WHITE),
    "nearly white": _shape(HIDDEN, _fill("F2F2F2")),
    "background of the theme": _shape(HIDDEN, _fill("bg1")),
    "background of the theme, modulated": _shape(HIDDEN, _fill("bg1", "<a:lumMod val='97000'/>")),
    "text of the theme, modulated to white": _shape(
        HIDDEN, _fill("tx1", "<a:lumMod val='5000'/><a:lumOff val='95000'/>")
    ),
    "accent of the theme, tinted to white": _shape(HIDDEN, _fill("accent1", "<a:tint val='4000'/>")),
    "white by a preset colour": _shape(HIDDEN, "<a:solidFill><a:prstClr val='white'/></a:solidFill>"),
    "white by a colour of the system": _shape(HIDDEN, "<a:solidFill><a:sysClr val='window'/></a:solidFill>"),
    "white by parts of light": _shape(
        HIDDEN, "<a:solidFill><a:scrgbClr r='100000' g='100000' b='100000'/></a:solidFill>"
    ),
    "1 point": _shape(HIDDEN, size="100"),
    "1 point by the list style": _shape(
        HIDDEN, size="", styles="<a:lvl1pPr><a:defRPr sz='100'/></a:lvl1pPr>"
    ),
    "made smaller to fit": _shape(HIDDEN, body="<a:normAutofit fontScale='5000'/>"),
    "letters one on another": _shape(HIDDEN, size="1800' spc='-1000"),
    "transparent": _shape(HIDDEN, _fill("000000", "<a:alpha val='0'/>")),
    "nearly transparent": _shape(HIDDEN, _fill("000000", "<a:alpha val='3000'/>")),
    "no fill": _shape(HIDDEN, "<a:noFill/>"),
    "no fill and no line": _shape(HIDDEN, "<a:ln><a:noFill/></a:ln><a:noFill/>"),
    "gradient of whites": _shape(
        HIDDEN, "<a:gradFill><a:gsLst><a:gs pos='0'><a:srgbClr val='FFFFFF'/></a:gs><a:gs pos='100000'>"
        "<a:schemeClr val='bg1'/></a:gs></a:gsLst><a:lin ang='0'/></a:gradFill>"
    ),
    "colour of the shape": _shape(HIDDEN, _DARK, fill=_DARK),
    "colour of the shape, by the theme": _shape(HIDDEN, _fill("4F81BD"), fill=_fill("accent1")),
    "colour of the shape below": _panel("1F497D", _AROUND) + _shape(HIDDEN, _DARK),
    "colour of the highlight": _shape(HIDDEN, _fill("FFFF00") + "<a:highlight><a:srgbClr val='FFFF00'/></a:highlight>"),
    "white on a white panel on a dark one": _panel("1F497D", (100, 100, 600, 300)) + _panel("FFFFFF", _AROUND)
    + _shape(HIDDEN, _WHITE),
    "white by the layout": _shape(HIDDEN, size="", box=None, placeholder="<p:ph type='body' idx='2'/>"),
    "1 point by the master": _shape(HIDDEN, size="", box=None, placeholder="<p:ph type='dt' idx='10'/>"),
    "colour of the background of the slide": "<!-- dark -->" + _shape(HIDDEN, _DARK),
    "colours of the theme exchanged": "<!-- exchanged -->" + _shape(HIDDEN, _fill("tx1"), fill=_WHITE),
    "covered by a shape": _shape(HIDDEN) + _panel("FFFFFF", _AROUND),
    "covered by a picture": _shape(HIDDEN) + _picture(_AROUND),
    "covered by a shape in a group": _shape(HIDDEN) + _group(_panel("C0504D", (0, 0, 300, 100)), (180, 180)),
    "off the slide": _shape(HIDDEN, box=(-600, 100, 200, 40)),
    "off the slide in a group": _group(_shape(HIDDEN, box=(0, 0, 100, 40)), (900, 100)),
    "marked as hidden": _shape(HIDDEN, attributes="hidden='1'"),
    "marked as hidden with its group": _group(_shape(HIDDEN, box=(0, 0, 100, 40)), (100, 100), "hidden='1'"),
    "on the layout, white": "<!-- layout -->",
    "on the layout, under a shape of the slide": "<!-- layout dark -->" + _panel("C0504D", _AROUND),
    "white with a white glow": _shape(
        HIDDEN, _WHITE + "<a:effectLst><a:glow rad='63500'><a:srgbClr val='FFFFFF'/></a:glow></a:effectLst>"
    ),
    "white in a table without a style": _table(HIDDEN, "", _WHITE).replace(
        "<a:tblPr/>", "<a:tblPr><a:tableStyleId>{2D5ABB26-0587-4C30-8999-92F81FD0307C}</a:tableStyleId></a:tblPr>"
    ),
    "colour of the layout's placeholder": _shape(
        HIDDEN, _DARK, fill="", box=None, placeholder="<p:ph type='body' idx='3'/>"
    ),
    "white by the paragraph's defaults": _shape(HIDDEN).replace(
        "<a:p><a:r>", f"<a:p><a:pPr><a:defRPr>{_WHITE}</a:defRPr></a:pPr><a:r>"
    ),
    "colour of a cell": _table(HIDDEN, _DARK, _DARK),
    "white in a cell without a fill": _table(HIDDEN, "<a:noFill/>", _WHITE),
    "under a merged cell": _table(HIDDEN, "", "", "hMerge='1'"),
}  # fmt: skip
_CONTROLS = {
    "white on a dark shape": _shape("show", _WHITE, fill=_DARK),
    "white on a shape of the theme": _shape("show", _fill("bg1"), fill=_fill("accent1", "<a:lumMod val='75000'/>")),
    "white on a dark panel below": _panel("1F497D", _AROUND) + _shape("show", _WHITE),
    "white partly on a dark panel": _panel("1F497D", (150, 150, 100, 200)) + _shape("show", _WHITE),
    "white on a dark ellipse below": _panel("1F497D", (0, 0, 700, 500), form="ellipse") + _shape("show", _WHITE),
    "white on a picture": _picture(_AROUND) + _shape("show", _WHITE),
    "white on a dark slide": "<!-- dark -->" + _shape("show", _WHITE),
    "white with the colours of the theme exchanged": "<!-- exchanged -->"
    + _shape("show", _fill("tx1"), fill=_fill("bg1")),
    "white on a gradient": _shape(
        "show", _WHITE, fill="<a:gradFill><a:gsLst><a:gs pos='0'><a:srgbClr val='FFFFFF'/></a:gs><a:gs pos='100000'>"
        "<a:srgbClr val='000000'/></a:gs></a:gsLst><a:lin ang='0'/></a:gradFill>"
    ),
    "white with a dark glow": _shape(
        "show", _WHITE + "<a:effectLst><a:glow rad='63500'><a:srgbClr val='000000'/></a:glow></a:effectLst>"
    ),
    "white on the fill of the layout's placeholder": _shape(
        "show", _WHITE, fill="", box=None, placeholder="<p:ph type='body' idx='3'/>"
    ),
    "white in a table with a style": _table("show", "", _WHITE).replace(
        "<a:tblPr/>", "<a:tblPr><a:tableStyleId>{5C22544A-7EE6-4342-B048-85BDC9FD1C3A}</a:tableStyleId></a:tblPr>"
    ),
    "white in a dark cell": _table("show", _DARK, _WHITE),
    "no fill but a line": _shape("show", f"<a:ln w='9525'>{_fill('FF0000')}</a:ln><a:noFill/>"),
    "link in white": _shape("show", _WHITE, link="<a:hlinkClick r:id='rId1'/>"),
    "half transparent": _shape("show", _fill("000000", "<a:alpha val='50000'/>")),
    "under a panel that comes when asked": _shape("show") + _panel("FFFFFF", _AROUND) + "<!-- moving -->",
    "on the layout": "<!-- layout dark --><!-- show -->",
    "of no size": _shape("show", box=(200, 200, 0, 0)),
    "under a transparent panel": _shape("show") + _panel("FFFFFF", _AROUND, "<a:alpha val='40000'/>"),
    "under a shape without a fill": _shape("show") + _shape("", box=_AROUND, number=9),
    "partly under a panel": _shape("show") + _panel("FFFFFF", (300, 150, 400, 200)),
    "pale grey": _shape("show", _fill("bg1", "<a:lumMod val='65000'/>")),
    "6 points": _shape("show", size="600"),
    "partly off the slide": _shape("show", box=(-20, 100, 200, 40)),
    "made a little smaller to fit": _shape("show", body="<a:normAutofit fontScale='62500' lnSpcReduction='20000'/>"),
    "text of a layout's placeholder": _shape("show", size="", box=None, placeholder=_BODY),
}  # fmt: skip


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hiding = [Technique(name, "talk.pptx", presentation(drawn), (HIDDEN,), (SHOWN,)) for name, drawn in _SLIDES.items()]
    return hiding + [
        Technique(f"control: {name}", "talk.pptx", presentation(drawn), (), (SHOWN, "show"))
        for name, drawn in _CONTROLS.items()
    ]


def _tree(shapes: str) -> str:
    return (
        "<p:spTree><p:nvGrpSpPr><p:cNvPr id='1' name=''/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>"
        f"{shapes}</p:spTree>"
    )


def presentation(drawn: str) -> bytes:
    """A presentation of one slide with shapes."""
    exchanged = "<!-- exchanged -->" in drawn
    dark = f"<p:bg><p:bgPr>{_DARK}<a:effectLst/></p:bgPr></p:bg>" if "<!-- dark -->" in drawn else ""
    override = (
        "<a:overrideClrMapping bg1='dk1' tx1='lt1' bg2='dk2' tx2='lt2' {}/>" if exchanged else "<a:masterClrMapping/>"
    )
    accents = " ".join(f"{name}='{name}'" for name in (*(f"accent{n}" for n in range(1, 7)), "hlink", "folHlink"))
    orange = _shape(SHOWN, _fill("F79646"), box=(20, 20, 200, 40), number=3)
    slide = f"<p:cSld>{dark}{_tree(orange + drawn)}</p:cSld><p:clrMapOvr>{override.format(accents)}</p:clrMapOvr>"
    places = (
        _shape("prompt", size="", placeholder=_BODY)
        + _shape(
            "prompt",
            size="",
            box=(100, 300, 300, 60),
            placeholder="<p:ph type='body' idx='2'/>",
            styles=f"<a:lvl1pPr><a:defRPr>{_WHITE}</a:defRPr></a:lvl1pPr>",
        )
        + _shape("filled", size="", fill=_DARK, box=(100, 200, 300, 60), placeholder="<p:ph type='body' idx='3'/>")
    )
    places += _shape("date", size="", placeholder="<p:ph type='dt' idx='10'/>")  # fmt: skip
    dates = _shape(
        "date", size="", placeholder="<p:ph type='dt' idx='2'/>", styles="<a:lvl1pPr><a:defRPr sz='100'/></a:lvl1pPr>"
    )
    black = f"<a:lvl1pPr><a:defRPr sz='1800'>{_fill('tx1')}</a:defRPr></a:lvl1pPr>"
    master = (
        "<p:cSld><p:bg><p:bgRef idx='1001'><a:schemeClr val='bg1'/></p:bgRef></p:bg>"
        f"{_tree(dates)}</p:cSld><p:clrMap bg1='lt1' tx1='dk1' bg2='lt2' tx2='dk2' {accents}/>"
        "<p:sldLayoutIdLst><p:sldLayoutId id='2147483649' r:id='rId1'/></p:sldLayoutIdLst>"
        f"<p:txStyles><p:titleStyle>{black}</p:titleStyle><p:bodyStyle>{black}</p:bodyStyle>"
        f"<p:otherStyle>{black}</p:otherStyle></p:txStyles>"
    )
    main = (
        f"<p:presentation {_SPACES}><p:sldMasterIdLst><p:sldMasterId id='2147483648' r:id='rId1'/></p:sldMasterIdLst>"
        "<p:sldIdLst><p:sldId id='256' r:id='rId2'/></p:sldIdLst><p:sldSz cx='9144000' cy='6858000'/>"
        f"<p:notesSz cx='6858000' cy='9144000'/><p:defaultTextStyle>{black}</p:defaultTextStyle></p:presentation>"
    )
    kind = "presentationml.{}+xml"
    kinds = {
        "ppt/presentation.xml": kind.format("presentation.main"),
        "ppt/slides/slide1.xml": kind.format("slide"),
        "ppt/slideLayouts/slideLayout1.xml": kind.format("slideLayout"),
        "ppt/slideMasters/slideMaster1.xml": kind.format("slideMaster"),
        "ppt/theme/theme1.xml": "theme+xml",
    }
    timing = (
        "<p:timing><p:tnLst><p:par><p:cTn id='1' dur='indefinite' restart='never' nodeType='tmRoot'><p:childTnLst>"
        "<p:set><p:cBhvr><p:cTn id='2' dur='1' fill='hold'/><p:tgtEl><p:spTgt spid='9'/></p:tgtEl><p:attrNameLst>"
        "<p:attrName>style.visibility</p:attrName></p:attrNameLst></p:cBhvr><p:to><p:strVal val='visible'/></p:to>"
        "</p:set></p:childTnLst></p:cTn></p:par></p:tnLst></p:timing>"
    )
    slide += timing if "<!-- moving -->" in drawn else ""
    if "<!-- layout" in drawn:
        text = "show" if "<!-- show -->" in drawn else HIDDEN
        places += _shape(text, _fill("000000") if "<!-- layout dark" in drawn else _WHITE, number=12)
    layout = f"<p:cSld>{_tree(places)}</p:cSld><p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr>"
    return package(kinds, {
        "ppt/presentation.xml": main,
        "ppt/_rels/presentation.xml.rels": relations(
            ("slideMaster", "slideMasters/slideMaster1.xml"), ("slide", "slides/slide1.xml"),
            ("theme", "theme/theme1.xml")
        ),
        "ppt/slides/slide1.xml": f"<p:sld {_SPACES}>{slide}</p:sld>",
        "ppt/slides/_rels/slide1.xml.rels": relations(
            ("slideLayout", "../slideLayouts/slideLayout1.xml"), ("image", "../media/image1.png")
        ),
        "ppt/media/image1.png": png(),
        "ppt/slideLayouts/slideLayout1.xml": f"<p:sldLayout {_SPACES}>{layout}</p:sldLayout>",
        "ppt/slideLayouts/_rels/slideLayout1.xml.rels": relations(("slideMaster", "../slideMasters/slideMaster1.xml")),
        "ppt/slideMasters/slideMaster1.xml": f"<p:sldMaster {_SPACES}>{master}</p:sldMaster>",
        "ppt/slideMasters/_rels/slideMaster1.xml.rels": relations(
            ("slideLayout", "../slideLayouts/slideLayout1.xml"), ("theme", "../theme/theme1.xml")
        ),
        "ppt/theme/theme1.xml": THEME,
    })  # fmt: skip


def png() -> bytes:
    """A picture of one blue pixel without transparency."""
    chunks = {
        b"IHDR": struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0),
        b"IDAT": zlib.compress(b"\0\x20\x40\x80"),
        b"IEND": b"",
    }
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks.items()
    )
