"""Word documents that hide text, and documents that only look as if they did."""

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
_BODIES = {
    "vanish": _p(HIDDEN, "<w:vanish/>"),
    "vanish by a paragraph style": _p(HIDDEN, "", "<w:pStyle w:val='Secret'/>"),
    "vanish by a character style": _p(HIDDEN, "<w:rStyle w:val='Gone'/>"),
    "vanish that is special": _p(HIDDEN, "<w:vanish/><w:specVanish/>"),
    "white": _p(HIDDEN, _WHITE),
    "nearly white": _p(HIDDEN, "<w:color w:val='F2F2F2'/>"),
    "background of the theme": _p(HIDDEN, "<w:color w:val='000000' w:themeColor='background1'/>"),
    "light 1 of the theme": _p(HIDDEN, "<w:color w:val='000000' w:themeColor='light1'/>"),
    "text of the theme, tinted to white": _p(
        HIDDEN, "<w:color w:val='000000' w:themeColor='text1' w:themeTint='0A'/>"
    ),
    "accent of the theme, tinted to white": _p(
        HIDDEN, "<w:color w:val='4F81BD' w:themeColor='accent1' w:themeTint='08'/>"
    ),
    "colour of the highlight": _p(HIDDEN, "<w:color w:val='FFFF00'/><w:highlight w:val='yellow'/>"),
    "colour of the shading": _p(HIDDEN, "<w:color w:val='4F81BD'/><w:shd w:val='clear' w:fill='4F81BD'/>"),
    "colour of the theme on shading of the theme": _p(
        HIDDEN, "<w:color w:val='000000' w:themeColor='accent2'/><w:shd w:val='clear' w:fill='FFFFFF' "
        "w:themeFill='accent2'/>"
    ),
    "white on a pale pattern": _p(HIDDEN, _WHITE + "<w:shd w:val='pct5' w:color='auto' w:fill='FFFFFF'/>"),
    "half a point": _p(HIDDEN, "<w:sz w:val='1'/>"),
    "scale of 1 %": _p(HIDDEN, "<w:w w:val='1'/>"),
    "letters one on another": _p(HIDDEN * 4, "<w:spacing w:val='-200'/>"),
    "line cut to a point": _p(HIDDEN, "", "<w:spacing w:line='20' w:lineRule='exact'/>"),
    "row cut to a point": _table(
        _row(_cell(HIDDEN), properties="<w:trHeight w:val='20' w:hRule='exact'/>"), _row(_cell("after"))
    ),
    "raised off the page": _p(HIDDEN, "<w:position w:val='2000'/>"),
    "lowered out of a cut line": _p(
        HIDDEN, "<w:position w:val='-100'/>", "<w:spacing w:line='240' w:lineRule='exact'/>"
    ),
    "indented off the page": _p(HIDDEN, "", "<w:ind w:left='-20000' w:right='15000'/>"),
    "first line off the page": _p(HIDDEN, "", "<w:ind w:left='0' w:hanging='20000'/>"),
    "frame off the page": _p(
        HIDDEN, "", "<w:framePr w:w='3000' w:h='500' w:hRule='exact' w:hAnchor='page' w:vAnchor='page' w:x='20000' "
        "w:y='30000'/>"
    ),
    "no fill of the letters": _p(HIDDEN, _fill("<w14:noFill/>")),
    "fill of the letters white": _p(HIDDEN, "<w:color w:val='000000'/>" + _fill(_solid("FFFFFF"))),
    "fill of the letters transparent": _p(HIDDEN, _fill(_solid("000000", "<w14:alpha w14:val='100000'/>"))),
    "fill of the letters of the theme": _p(
        HIDDEN, _fill("<w14:solidFill><w14:schemeClr w14:val='bg1'/></w14:solidFill>")
    ),
    "white with a white shadow": _p(
        HIDDEN, _WHITE + "<w14:shadow w14:blurRad='0' w14:dist='0'><w14:srgbClr w14:val='FFFFFF'/></w14:shadow>"
    ),
    "white by a table style": _table(_row(_cell(HIDDEN)), properties="<w:tblStyle w:val='Ghost'/>"),
    "white in the first row by a table style": _table(
        _row(_cell(HIDDEN)), _row(_cell("after")),
        properties="<w:tblStyle w:val='Head'/><w:tblLook w:val='0020' w:firstRow='1'/>",
    ),
    "colour of the cell": _table(
        _row(_cell(HIDDEN, "<w:shd w:val='clear' w:fill='1F497D'/>", "<w:color w:val='1F497D'/>"))
    ),
    "under a merged cell": _table(
        _row(_cell("after", "<w:vMerge w:val='restart'/>"), _cell("x")), _row(_cell(HIDDEN, "<w:vMerge/>"), _cell("y"))
    ),
    "text box off the page": _box(HIDDEN, -3000, -3000),
    "text box beside the column, off the page": _box(HIDDEN, 4000, 4000, origin="column"),
    "text box a page left of the column": _box(HIDDEN, -400, 100, origin="column"),
    "old text box a page left of the column": _vml(
        HIDDEN, "position:absolute;margin-left:-400pt;margin-top:40pt;width:200pt;height:40pt"
    ),
    "text box above the page": _box(HIDDEN, 100, -400),
    "text box of no size": _box(HIDDEN, 100, 100, (0, 0)),
    "text box marked as hidden": _box(HIDDEN, 100, 100, attributes="hidden='1'"),
    "white in a text box without a fill": _box(HIDDEN, 100, 100, fill="<a:noFill/>", run=_WHITE),
    "colour of the text box": _box(
        HIDDEN, 100, 100, fill="<a:solidFill><a:schemeClr val='accent1'/></a:solidFill>",
        run="<w:color w:val='4F81BD'/>",
    ),
    "old text box that is not visible": _vml(HIDDEN, _PLACED + ";visibility:hidden"),
    "old text box that is not displayed": _vml(HIDDEN, _PLACED + ";display:none"),
    "old text box of no size": _vml(HIDDEN, "position:absolute;margin-left:40pt;margin-top:40pt;width:0;height:0"),
    "old text box off the page": _vml(
        HIDDEN, "position:absolute;margin-left:-3000pt;margin-top:40pt;width:200pt;height:40pt"
    ),
    "colour of the old text box": _vml(HIDDEN, _PLACED, "fillcolor='#112233'", "<w:color w:val='112233'/>"),
    "code of a field": "<w:p>" + _FIELD.format("begin") + _CODE.format(f"QUOTE {HIDDEN}") + _FIELD.format("separate")
    + _RESULT.format("after") + _FIELD.format("end") + "</w:p>",
    "result within the code of a field": "<w:p>" + _FIELD.format("begin") + _CODE.format("IF ")
    + _FIELD.format("begin") + _CODE.format("QUOTE x") + _FIELD.format("separate") + _RESULT.format(HIDDEN)
    + _FIELD.format("end") + _CODE.format(" = y a b") + _FIELD.format("separate") + _RESULT.format("after")
    + _FIELD.format("end") + "</w:p>",
    "floating table off the page": _table(
        _row(_cell(HIDDEN)),
        properties="<w:tblpPr w:horzAnchor='page' w:vertAnchor='page' w:tblpX='30000' w:tblpY='30000'/>",
    ),
    "table indented off the page": _table(_row(_cell(HIDDEN)), properties="<w:tblInd w:w='-25000' w:type='dxa'/>"),
    "white formula": "<w:p><m:oMath><m:r><w:rPr>" + _WHITE + f"</w:rPr><m:t>{HIDDEN}</m:t></m:r></m:oMath></w:p>",
    "white number of a list": _p("after", "", "<w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr>"),
    "choice that no program understands": (
        "<w:p><w:r><mc:AlternateContent><mc:Choice xmlns:zz='urn:nobody' Requires='zz'>"
        f"<w:t>{HIDDEN}</w:t></mc:Choice><mc:Fallback><w:t>after</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    ),
    "shape of a group off the page": _group(HIDDEN, 5000),
    "alternative text": _box("after", 100, 100, attributes=f"descr='{HIDDEN}'"),
}  # fmt: skip
_CONTROLS = {
    "white on a dark paragraph": _p("show", _WHITE, "<w:shd w:val='clear' w:fill='1F497D'/>"),
    "white on a dark cell": _table(_row(_cell("show", "<w:shd w:val='clear' w:fill='1F497D'/>", _WHITE))),
    "white on a cell of the theme": _table(
        _row(_cell("show", "<w:shd w:val='clear' w:fill='FFFFFF' w:themeFill='text1'/>",
                   "<w:color w:val='000000' w:themeColor='background1'/>"))
    ),
    "white on a dark row of a table style": _table(
        _row(_cell("show")), _row(_cell("after")),
        properties="<w:tblStyle w:val='Dark'/><w:tblLook w:val='0020' w:firstRow='1'/>",
    ),
    "white on a dark text box": _box(
        "show", 100, 100, fill="<a:solidFill><a:srgbClr val='1F497D'/></a:solidFill>", run=_WHITE
    ),
    "white on a dark old text box": _vml("show", _PLACED, "fillcolor='#1F497D'", _WHITE),
    "white on a page of another colour": "<!-- page -->" + _p("show", _WHITE),
    "white with the colours of the theme exchanged": "<!-- exchanged -->"
    + _p("show", "<w:color w:val='FFFFFF' w:themeColor='background1'/>"),
    "black on yellow": _p("show", "<w:highlight w:val='yellow'/>"),
    "6 points": _p("show", "<w:sz w:val='12'/>"),
    "pale grey": _p("show", "<w:color w:val='999999'/>"),
    "grey of the theme": _p("show", "<w:color w:val='D9D9D9' w:themeColor='background1' w:themeShade='A6'/>"),
    "scale of 50 %": _p("show", "<w:w w:val='50'/>"),
    "narrow letters": _p("show", "<w:spacing w:val='-20'/>"),
    "exact line of 10 points": _p("show", "", "<w:spacing w:line='200' w:lineRule='exact'/>"),
    "superscript by position": _p("show", "<w:position w:val='12'/>"),
    "hidden on the web alone": _p("show", "<w:webHidden/>"),
    "hanging indent": _p("show", "", "<w:ind w:left='720' w:hanging='1440'/>"),
    "frame in the margin": _p("show", "", "<w:framePr w:w='1500' w:hAnchor='page' w:vAnchor='text' w:x='300'/>"),
    "text box in the left margin": _box("show", -70, 100, (60, 40), origin="column"),
    "text box partly off the page": _box("show", -30, 100),
    "letters without a fill but with a line": _p(
        "show", _fill("<w14:noFill/>") + "<w14:textOutline w14:w='9525'>" + _solid("FF0000") + "</w14:textOutline>"
    ),
    "white with a shadow": _p(
        "show", _WHITE + "<w14:shadow w14:blurRad='50800' w14:dist='38100'><w14:srgbClr w14:val='000000'>"
        "<w14:alpha w14:val='40000'/></w14:srgbClr></w14:shadow>"
    ),
    "letters half transparent": _p("show", _fill(_solid("000000", "<w14:alpha w14:val='50000'/>"))),
    "choice that programs understand": (
        "<w:p><w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:t>show</w:t></mc:Choice><mc:Fallback>"
        "<w:t>else</w:t></mc:Fallback></mc:AlternateContent></w:r></w:p>"
    ),
    "formula": "<w:p><m:oMath><m:r><m:t>show</m:t></m:r></m:oMath></w:p>",
    "floating table": _table(
        _row(_cell("show")),
        properties="<w:tblpPr w:horzAnchor='page' w:vertAnchor='page' w:tblpX='3000' w:tblpY='5000'/>",
    ),
    "shape of a group": _group("show", 0),
    "button of a field": "<w:p>" + _FIELD.format("begin") + _CODE.format("MACROBUTTON none ") + _RESULT.format("show")
    + _FIELD.format("end") + "</w:p>",
    "insertion with changes tracked": (
        "<w:p><w:ins w:id='1' w:author='a'><w:r><w:t>show</w:t></w:r></w:ins></w:p>"
    ),
    "result of a field": "<w:p>" + _FIELD.format("begin") + _CODE.format("DATE") + _FIELD.format("separate")
    + _RESULT.format("show") + _FIELD.format("end") + "</w:p>",
}  # fmt: skip
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
