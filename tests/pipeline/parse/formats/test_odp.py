"""OpenDocument presentations and drawings: slides with everything on them."""

from pipeline.document import Hidden
from pipeline.errors import Failure
from pipeline.parse.options import Options
from tests.pipeline.parse.odf import opendocument

HIDDEN = (
    '<style:style style:name="dp" style:family="drawing-page">'
    '<style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
)


def box(text: str, kind: str = "") -> str:
    return (
        f'<draw:frame presentation:class="{kind}"><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>'
    )


def slide(*shapes: str, style: str = "", more: str = "") -> str:
    return f'<draw:page draw:style-name="{style}" draw:master-page-name="M" {more}>{"".join(shapes)}</draw:page>'


def presentation(*slides: str, **more: str) -> bytes:
    return opendocument("presentation", "".join(slides), automatic=HIDDEN, **more)


def test_slides_are_pages_with_titles(parse) -> None:
    shape = "<draw:custom-shape><text:p>in a shape</text:p></draw:custom-shape>"
    row = "<table:table-row>" + "<table:table-cell><text:p>c</text:p></table:table-cell>" * 2 + "</table:table-row>"
    table = f"<draw:frame><table:table>{row}</table:table></draw:frame>"
    first = slide(box("First", "title"), box("in a box"), shape)
    second = slide(f"<draw:g>{box('grouped')}{box('too')}</draw:g>")
    parsed = parse(presentation(first, second, slide(box("Third", "title"), table)))
    assert parsed.text == "First\n\nin a box\n\nin a shape\n\ngrouped\n\ntoo\n\nThird\n\nc | c"
    assert [parsed.text[start : start + 5] for start in parsed.page_starts] == ["First", "group", "Third"]
    assert [(section.kind, section.title) for section in parsed.sections] == [("slide", "First"), ("slide", "Third")]


def test_notes_comments_footers_and_what_stands_behind(parse) -> None:
    notes = f"<presentation:notes>{box('say this', 'notes')}{box('3', 'page-number')}</presentation:notes>"
    comment = "<office:annotation><dc:creator>Ann</dc:creator><text:p>better so</text:p></office:annotation>"
    footer = '<presentation:footer-decl presentation:name="f">Draft</presentation:footer-decl>'
    master = f'<style:master-page style:name="M">{box("behind")}{box("click here", "title")}</style:master-page>'
    master += f'<style:master-page style:name="Other">{box("nowhere")}</style:master-page>'
    used = 'presentation:use-footer-name="f"'
    parsed = parse(presentation(footer, slide(box("x"), comment, notes, more=used), slide(box("y")), master=master))
    assert parsed.text == "x\n\nComment (Ann): better so\n\nDraft\n\nNotes: say this\n\nbehind\n\ny"


def test_hidden_slides_are_dropped_or_kept(parse_members) -> None:
    data = presentation(slide(box("a")), slide(box("Secret", "title"), style="dp"), slide(box("b")))
    parsed, _ = parse_members(data)
    assert parsed.text == "a\n\nb"
    assert parsed.page_of(parsed.text.index("b")) == 3
    assert parsed.hidden == (Hidden("hidden_slide", 6),)
    kept, _ = parse_members(data, options=Options(hidden="keep"))
    assert (kept.text, kept.hidden) == ("a\n\nSecret\n\nb", parsed.hidden)


def test_drawings_have_pages(parse) -> None:
    parsed = parse(opendocument("drawing", slide(box("one")) + slide("<draw:line><text:p>two</text:p></draw:line>")))
    assert (parsed.text, parsed.page_starts) == ("one\n\ntwo", (0, 5))
    assert parsed.media_type == "application/vnd.oasis.opendocument.graphics"


def test_slides_of_pictures_wait_for_ocr(fail) -> None:
    assert (
        fail(presentation(slide("<draw:frame><draw:image/></draw:frame>"), Pictures__1="x")).failure
        is Failure.NEEDS_OCR
    )
    assert fail(presentation(slide())).failure is Failure.EMPTY
