"""OpenDocument texts, slides and sheets that hide text, and such as only look as if they did."""

from dataclasses import replace

from tests.hidden.base import Technique
from tests.pipeline.parse.odf import opendocument

HIDDEN, SHOWN = "zebra", "before"
_LO = 'xmlns:loext="urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0"'
_NUMBER = 'xmlns:number="urn:oasis:names:tc:opendocument:xmlns:datastyle:1.0"'
_PAGE = (
    '<style:page-layout style:name="L"><style:page-layout-properties fo:page-width="21cm" fo:page-height="29cm"{}/>'
    "</style:page-layout>"
)
_SPAN = '<text:p><text:span text:style-name="T">{}</text:span></text:p>'


def _style(properties: str, family: str = "text", name: str = "T", more: str = "") -> str:
    return f'<style:style style:name="{name}" style:family="{family}" {more}>{properties}</style:style>'


def _text(properties: str) -> str:
    return _style(f"<style:text-properties {properties}/>")


# name: what text properties say of a run
_RUNS = {
    "white": 'fo:color="#ffffff"',
    "nearly white": 'fo:color="#f6f6f6"',
    "1 pt": 'fo:font-size="1pt"',
    "letters 1 % wide": 'style:text-scale="1%"',
    "hardly any opacity": f'{_LO} fo:color="#000000" loext:opacity="1%"',
    "no opacity": f'{_LO} fo:color="#000000" loext:opacity="0%"',
    "hidden characters": 'text:display="none"',
    "same as the highlight": 'fo:color="#ffff00" fo:background-color="#ffff00"',
    "raised and 1 % high": 'style:text-position="30% 1%"',
    "letters on one another": 'fo:letter-spacing="-1cm"',
}
_SEEN = {
    "pale grey": 'fo:color="#999999"',
    "small print": 'fo:font-size="6pt" style:text-scale="80%"',
    "white on a dark highlight": 'fo:color="#ffffff" fo:background-color="#003366"',
    "colour of the window": 'fo:color="#ffffff" style:use-window-font-color="true"',
    "colour of the window, as LibreOffice writes it": f'{_LO} style:use-window-font-color="true" loext:opacity="0%"',
    "half opaque": f'{_LO} fo:color="#000000" loext:opacity="50%"',
    "superscript": 'style:text-position="super 58%"',
}


def techniques() -> list[Technique]:
    """All of them, the controls at the end."""
    runs = [_odt(name, _SPAN.format(HIDDEN), _text(said)) for name, said in _RUNS.items()]
    seen = [_odt(f"control: {name}", _SPAN.format("show"), _text(said)) for name, said in _SEEN.items()]
    return [*runs, *_texts(), *_slides(), *_sheets(), *seen, *_controls()]


def _made(name: str, ending: str, data: bytes) -> Technique:
    """By the name, a technique or a control."""
    if name.startswith("control:"):
        return Technique(name, f"file.{ending}", data, (), (SHOWN, "show"))
    return Technique(name, f"file.{ending}", data, (HIDDEN,), (SHOWN,))


def _odt(name: str, body: str, automatic: str = "", layout: str = "") -> Technique:
    data = opendocument("text", f"<text:p>{SHOWN}</text:p>{body}", automatic=automatic, styles=_PAGE.format(layout))
    return _made(name, "odt", data)


def _frame(place: str, words: str, inside: str = "") -> str:
    box = f"<draw:text-box><text:p>{words}</text:p></draw:text-box>"
    return f'<text:p><draw:frame draw:style-name="F" {place} {inside}>{box}</draw:frame></text:p>'


def _drawn(place: str, words: str) -> str:
    shape = f'<draw:custom-shape text:anchor-type="paragraph" draw:style-name="F" {place}><text:p>{words}</text:p>'
    return f"<text:p>{shape}</draw:custom-shape></text:p>"


def _texts() -> list[Technique]:
    white = _style('<style:text-properties fo:color="#ffffff"/>', "paragraph", "P")
    cell = _style('<style:table-cell-properties fo:background-color="#123456"/>', "table-cell", "C")
    row = _style('<style:table-row-properties style:row-height="0.02cm"/>', "table-row", "R")
    table = (
        '<table:table><table:table-row table:style-name="R"><table:table-cell table:style-name="C">'
        '<text:p><text:span text:style-name="T">zebra</text:span></text:p></table:table-cell></table:table-row>'
        "</table:table>"
    )
    paragraph = '<text:p text:style-name="P">zebra</text:p>'
    size = 'svg:width="5cm" svg:height="1cm"'
    away = 'text:display="none"'
    holds = 'text:condition="ooow:1==1" text:is-hidden="true"'
    placed = _style(
        '<style:graphic-properties style:horizontal-pos="from-left" style:horizontal-rel="page" '
        'style:vertical-pos="from-top" style:vertical-rel="page"/>',
        "graphic",
        "F",
    )
    return [
        _odt("white paragraph", paragraph, white),
        _odt("hidden section", f'<text:section text:name="S" {away}><text:p>zebra</text:p></text:section>'),
        _odt(
            "hidden text field",
            f'<text:p>x<text:hidden-text {holds} text:string-value="zebra">zebra</text:hidden-text></text:p>',
        ),
        _odt("hidden paragraph", f"<text:p><text:hidden-paragraph {holds}/>zebra</text:p>"),
        _odt("same as the cell", table, cell + _text('fo:color="#123456"')),
        _odt("row of no height", table, row),
        _odt("shape off the page", _drawn(f'svg:x="-90cm" svg:y="0cm" {size}', "zebra"), placed),
        _odt(
            "frame beyond the page",
            _frame(f'text:anchor-type="page" text:anchor-page-number="1" svg:x="1cm" svg:y="40cm" {size}', "zebra"),
            placed,
        ),
    ]


def _controls() -> list[Technique]:
    white = _text('fo:color="#ffffff"')
    dark = ' fo:background-color="#003366"'
    filled = _style('<style:graphic-properties draw:fill="solid" draw:fill-color="#003366"/>', "graphic", "F")
    span = '<text:span text:style-name="T">show</text:span>'
    return [
        _odt("control: white on a dark page", _SPAN.format("show"), white, dark),
        _odt("control: white in a dark frame", _frame('svg:width="5cm" svg:height="1cm"', span), white + filled),
        _odt("control: frame in the margin", _frame('svg:x="-2cm" svg:y="0cm" svg:width="5cm"', "show")),
        _odt("control: frame that is moved onto the page", _frame('svg:x="-90cm" svg:y="0cm" svg:width="5cm"', "show")),
        _odt("control: section that is shown", '<text:section text:display="condition"><text:p>show</text:p>'
             "</text:section>"),
    ]  # fmt: skip


def _odp(name: str, shapes: str, automatic: str = "") -> Technique:
    page = '<style:master-page style:name="M" style:page-layout-name="L"/>'
    plain = f"<draw:text-box><text:p>{SHOWN}</text:p></draw:text-box>"
    title = f'<draw:frame svg:x="1cm" svg:y="1cm" svg:width="5cm" svg:height="1cm">{plain}</draw:frame>'
    body = f'<draw:page draw:master-page-name="M">{title}{shapes}</draw:page>'
    layout = _PAGE.format("").replace("29cm", "15cm")
    return _made(name, "odp", opendocument("presentation", body, automatic=automatic, styles=layout, master=page))


def _box(words: str) -> str:
    return f'<draw:text-box><text:p><text:span text:style-name="T">{words}</text:span></text:p></draw:text-box>'


def _shape(words: str, x: str = "2cm", more: str = "") -> str:
    place = f'svg:x="{x}" svg:y="5cm" svg:width="6cm" svg:height="2cm"'
    return f'<draw:frame draw:style-name="F" {place} {more}>{_box(words)}</draw:frame>'


def _slides() -> list[Technique]:
    white, blue = _text('fo:color="#ffffff"'), _text('fo:color="#003366"')
    filled = _style('<style:graphic-properties draw:fill="solid" draw:fill-color="#003366"/>', "graphic", "F")
    bare = _style('<style:graphic-properties draw:fill="none"/>', "graphic", "F")
    cover = _style('<style:graphic-properties draw:fill="solid" draw:fill-color="#ffffff"/>', "graphic", "G")
    dark = _style('<style:graphic-properties draw:fill="solid" draw:fill-color="#003366"/>', "graphic", "G")
    over = '<draw:rect draw:style-name="G" svg:x="1cm" svg:y="4cm" svg:width="9cm" svg:height="5cm"/>'
    return [
        _odp("white on a slide", _shape("zebra"), white + bare),
        _odp("same as the shape", _shape("zebra"), blue + filled),
        _odp("small letters on a slide", _shape("zebra"), _text('fo:font-size="1pt"')),
        _odp("off the slide", _shape("zebra", "60cm")),
        _odp("under a shape", _shape("zebra") + over, cover),
        _odp("control: white on a dark shape", _shape("show"), white + filled),
        _odp("control: white over another shape", over + _shape("show"), white + bare + dark),
        _odp("control: white on a shape that says nothing", _shape("show"), white),
        _odp("control: partly off the slide", _shape("show", "18cm")),
    ]  # fmt: skip


def _ods(name: str, row: str, automatic: str = "", column: str = "") -> Technique:
    first = f"<table:table-row><table:table-cell><text:p>{SHOWN}</text:p></table:table-cell></table:table-row>"
    body = f'<table:table table:name="one">{column}{first}{row}</table:table>'
    return _made(name, "ods", opendocument("spreadsheet", body, automatic=automatic))


def _row(words: str, of_cell: str = "", of_row: str = "") -> str:
    cell = f'<table:table-cell table:style-name="C" {of_cell}><text:p>{words}</text:p></table:table-cell>'
    return f"<table:table-row {of_row}>{cell}</table:table-row>"


def _cell(said: str, ground: str = "", more: str = "") -> str:
    properties = f"<style:text-properties {said}/><style:table-cell-properties {ground}/>"
    return _style(properties, "table-cell", "C", more)


def _sheets() -> list[Technique]:
    low = _style('<style:table-row-properties style:row-height="0.02cm"/>', "table-row", "R")
    empty = f'<number:text-style {_NUMBER} style:name="N"><number:text/></number:text-style>'
    white = _cell('fo:color="#ffffff"', 'fo:background-color="#036036"')
    off = '<table:table-column table:visibility="collapse"/>'
    return [
        _ods("white cell", _row("zebra"), _cell('fo:color="#ffffff"')),
        _ods("same as the cell's ground", _row("zebra"), _cell('fo:color="#c00000"', 'fo:background-color="#c00000"')),
        _ods("cell of 1 pt", _row("zebra"), _cell('fo:font-size="1pt"')),
        _ods("row of a sheet of no height", _row("zebra", of_row='table:style-name="R"'), low),
        _ods("collapsed row", _row("zebra", of_row='table:visibility="collapse"')),
        replace(
            _ods("number that its format does not write", _row("x", 'office:value-type="float" office:value="777"'),
                 empty + _cell("", more='style:data-style-name="N"')),
            hidden=("777",),
        ),
        _ods("control: white on a dark cell", _row("show"), white),
        _ods("control: hidden column beside it", _row("show"), column=f"<table:table-column/>{off}"),
    ]  # fmt: skip
