"""Word documents that hide text, and documents that only look as if they did."""

import json
from pathlib import Path

from tests.hidden.base import Technique
from tests.hidden.packages import OFFICE, THEME, package, relations

HIDDEN, SHOWN = "zebra", "before"
_SPACES = " ".join(
    f'xmlns:{short}="{name}"'
    for short, name in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "r": f"{OFFICE}/relationships",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "wpg": "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "m": f"{OFFICE}/math",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)


def _p(text: str, run: str = "", paragraph: str = "") -> str:
    return f"<w:p><w:pPr>{paragraph}</w:pPr><w:r><w:rPr>{run}</w:rPr><w:t>{text}</w:t></w:r></w:p>"


def _fill(inner: str) -> str:
    return f"<w14:textFill>{inner}</w14:textFill>"


def _solid(colour: str, change: str = "") -> str:
    return f"<w14:solidFill><w14:srgbClr w14:val='{colour}'>{change}</w14:srgbClr></w14:solidFill>"


def _table(*rows: str, properties: str = "") -> str:
    return (
        f"<w:tbl><w:tblPr>{properties}<w:tblW w:w='9000' w:type='dxa'/></w:tblPr>"
        f"<w:tblGrid><w:gridCol w:w='4500'/><w:gridCol w:w='4500'/></w:tblGrid>{''.join(rows)}</w:tbl>"
    )


def _row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def _cell(text: str, properties: str = "", run: str = "") -> str:
    return f"<w:tc><w:tcPr><w:tcW w:w='4500' w:type='dxa'/>{properties}</w:tcPr>{_p(text, run)}</w:tc>"


def _box(
    text: str, x: int = 0, y: int = 0, size: tuple[int, int] = (200, 40), origin: str = "page", fill: str = "",
    run: str = "", attributes: str = "", behind: int = 0, body: str = "",
) -> str:  # fmt: skip
    """A text box at x, y with a size, all in points."""
    emu = 12700
    return (
        "<w:p><w:r><w:drawing>"
        f"<wp:anchor distT='0' distB='0' distL='0' distR='0' simplePos='0' relativeHeight='2' behindDoc='{behind}' "
        "locked='0' layoutInCell='1' allowOverlap='1'><wp:simplePos x='0' y='0'/>"
        f"<wp:positionH relativeFrom='{origin}'><wp:posOffset>{x * emu}</wp:posOffset></wp:positionH>"
        f"<wp:positionV relativeFrom='{origin}'><wp:posOffset>{y * emu}</wp:posOffset></wp:positionV>"
        f"<wp:extent cx='{size[0] * emu}' cy='{size[1] * emu}'/><wp:wrapNone/><wp:docPr id='7' name='b' {attributes}/>"
        "<a:graphic><a:graphicData uri='http://schemas.microsoft.com/office/word/2010/wordprocessingShape'><wps:wsp>"
        "<wps:cNvSpPr txBox='1'/><wps:spPr><a:xfrm><a:off x='0' y='0'/>"
        f"<a:ext cx='{size[0] * emu}' cy='{size[1] * emu}'/></a:xfrm><a:prstGeom prst='rect'><a:avLst/></a:prstGeom>"
        f"{fill}</wps:spPr><wps:txbx><w:txbxContent>{_p(text, run)}</w:txbxContent></wps:txbx><wps:bodyPr>{body}"
        "</wps:bodyPr></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing></w:r></w:p>"
    )


def _vml(text: str, style: str, attributes: str = "", run: str = "", fill: str = "") -> str:
    content = f"<v:textbox><w:txbxContent>{_p(text, run)}</w:txbxContent></v:textbox>"
    return f"<w:p><w:r><w:pict><v:rect style='{style}' {attributes}>{fill}{content}</v:rect></w:pict></w:r></w:p>"


def _group(text: str, x: int) -> str:
    """A group of one text box, which lies x points to the right within it."""
    box = _box(text, 100, 100)
    begin, end = box.index("<wps:wsp>"), box.index("</a:graphicData>")
    shape = box[begin:end].replace("<a:off x='0'", f"<a:off x='{x * 12700}'")
    place = "<a:off x='0' y='0'/><a:ext cx='2540000' cy='508000'/>"
    place += place.replace("a:off", "a:chOff").replace("a:ext", "a:chExt")
    group = f"<wpg:wgp><wpg:cNvGrpSpPr/><wpg:grpSpPr><a:xfrm>{place}</a:xfrm></wpg:grpSpPr>{shape}</wpg:wgp>"
    return (box[:begin] + group + box[end:]).replace("wordprocessingShape'>", "wordprocessingGroup'>", 1)


_PLACED = "position:absolute;margin-left:40pt;margin-top:40pt;width:200pt;height:40pt"
_WHITE = "<w:color w:val='FFFFFF'/>"
_FIELD = "<w:r><w:fldChar w:fldCharType='{}'/></w:r>"
_CODE = "<w:r><w:instrText>{}</w:instrText></w:r>"
_RESULT = "<w:r><w:t>{}</w:t></w:r>"
_DATA: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("docx.json").read_text("utf-8"))
_BODIES = _DATA["bodies"]
_CONTROLS = _DATA["controls"]
_STYLES = f"""<w:styles {_SPACES}><w:docDefaults><w:rPrDefault><w:rPr><w:sz w:val='22'/></w:rPr></w:rPrDefault>
</w:docDefaults><w:style w:type='paragraph' w:default='1' w:styleId='N'><w:name w:val='Normal'/></w:style>
<w:style w:type='paragraph' w:styleId='Secret'><w:name w:val='Secret'/><w:basedOn w:val='N'/><w:rPr><w:vanish/></w:rPr>
</w:style><w:style w:type='character' w:styleId='Gone'><w:name w:val='Gone'/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type='table' w:styleId='Ghost'><w:name w:val='Ghost'/><w:rPr>{_WHITE}</w:rPr></w:style>
<w:style w:type='table' w:styleId='Head'><w:name w:val='Head'/><w:tblStylePr w:type='firstRow'><w:rPr>{_WHITE}</w:rPr>
</w:tblStylePr></w:style>
<w:style w:type='table' w:styleId='Dark'><w:name w:val='Dark'/><w:tblStylePr w:type='firstRow'><w:rPr>{_WHITE}</w:rPr>
<w:tcPr><w:shd w:val='clear' w:fill='000000'/></w:tcPr></w:tblStylePr></w:style></w:styles>"""


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    hiding = [
        Technique(name, "letter.docx", docx_document(body), (HIDDEN,), (SHOWN,)) for name, body in _BODIES.items()
    ]
    return hiding + [
        Technique(f"control: {name}", "letter.docx", docx_document(body), (), (SHOWN, "show"))
        for name, body in _CONTROLS.items()
    ]


def docx_document(body: str) -> bytes:
    """A document of a word that is shown, and a body."""
    coloured, exchanged = "<!-- page -->" in body, "<!-- exchanged -->" in body
    before = _p(SHOWN, "<w:color w:val='FF6600'/>")
    page = "<w:background w:color='1F497D'/>" if coloured or exchanged else ""
    mapping = "<w:clrSchemeMapping w:bg1='dark1' w:t1='light1' w:bg2='dark2' w:t2='light2'/>" if exchanged else ""
    settings = f"<w:settings {_SPACES}>{'<w:displayBackgroundShape/>' if page else ''}{mapping}</w:settings>"
    section = "<w:sectPr><w:pgSz w:w='11906' w:h='16838'/><w:pgMar w:top='1440' w:right='1440' w:bottom='1440' " \
              "w:left='1440' w:header='708' w:footer='708' w:gutter='0'/></w:sectPr>"  # fmt: skip
    main = f"<w:document {_SPACES} mc:Ignorable='w14'>{page}<w:body>{before}{body}{section}</w:body></w:document>"
    numbering = (
        f"<w:numbering {_SPACES}><w:abstractNum w:abstractNumId='0'><w:lvl w:ilvl='0'><w:start w:val='1'/>"
        f"<w:numFmt w:val='decimal'/><w:lvlText w:val='{HIDDEN} %1'/><w:rPr>{_WHITE}</w:rPr></w:lvl></w:abstractNum>"
        "<w:num w:numId='1'><w:abstractNumId w:val='0'/></w:num></w:numbering>"
    )
    kinds = {
        "word/document.xml": "wordprocessingml.document.main+xml",
        "word/numbering.xml": "wordprocessingml.numbering+xml",
        "word/styles.xml": "wordprocessingml.styles+xml",
        "word/settings.xml": "wordprocessingml.settings+xml",
        "word/theme/theme1.xml": "theme+xml",
    }
    related = relations(("styles", "styles.xml"), ("settings", "settings.xml"), ("theme", "theme/theme1.xml"),
                        ("numbering", "numbering.xml"))  # fmt: skip
    return package(kinds, {
        "word/document.xml": main, "word/_rels/document.xml.rels": related, "word/styles.xml": _STYLES,
        "word/numbering.xml": numbering, "word/settings.xml": settings, "word/theme/theme1.xml": THEME,
    })  # fmt: skip
