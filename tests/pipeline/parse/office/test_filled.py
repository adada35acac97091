"""What Word shows in controls and fields, and what is stored that says something else."""

import io
import zipfile
from collections.abc import Callable

import pytest

from pipeline.document import Parsed

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SPACES = (
    f'xmlns:w="{W}" xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml" '
    'xmlns:w15="http://schemas.microsoft.com/office/word/2012/wordml" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)
STORE = "{11111111-2222-3333-4444-555555555555}"
BOUND = (
    f"<w:dataBinding w:prefixMappings=\"xmlns:x='urn:x'\" w:xpath='/x:lease[1]/x:value[1]' w:storeItemID='{STORE}'/>"
)
Read = Callable[..., Parsed]


def r(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def control(properties: str, content: str) -> str:
    return f"<w:sdt><w:sdtPr>{properties}</w:sdtPr><w:sdtContent>{content}</w:sdtContent></w:sdt>"


def field(code: str, result: str = "", *, form: str = "", dirty: str = "") -> str:
    return (
        f"<w:r><w:fldChar w:fldCharType='begin'{dirty}>{form}</w:fldChar></w:r>"
        f"<w:r><w:instrText xml:space='preserve'>{code}</w:instrText></w:r>"
        f"<w:r><w:fldChar w:fldCharType='separate'/></w:r>{r(result) if result else ''}"
        "<w:r><w:fldChar w:fldCharType='end'/></w:r>"
    )


@pytest.fixture
def read(parse, office, rels) -> Read:
    def read(body: str, *, bound: str | None = None, settings: str = "", fonts: str = "") -> Parsed:
        body = body if body.startswith(("<w:p>", "<w:tbl>", "<w:sdt>")) else f"<w:p>{body}</w:p>"
        targets, parts = [], {"word/document.xml": f"<w:document {SPACES}><w:body>{body}</w:body></w:document>"}
        if bound is not None:
            targets.append(("customXml", "../customXml/item1.xml"))
            parts["customXml/item1.xml"] = f"<lease xmlns='urn:x'>{bound}</lease>"
            parts["customXml/itemProps1.xml"] = f"<ds:datastoreItem xmlns:ds='urn:ds' ds:itemID='{STORE}'/>"
            parts["customXml/_rels/item1.xml.rels"] = rels(("customXmlProps", "itemProps1.xml"))
        if settings:
            targets.append(("settings", "settings.xml"))
            parts["word/settings.xml"] = f"<w:settings {SPACES}>{settings}</w:settings>"
        if fonts:
            targets.append(("fontTable", "fontTable.xml"))
            parts["word/fontTable.xml"] = f"<w:fonts {SPACES}>{fonts}</w:fonts>"
        parts["word/_rels/document.xml.rels"] = rels(*targets)
        return parse(office("docx", parts))

    return read


def test_runs_above_and_below_the_line(read: Read) -> None:
    up, down = "<w:vertAlign w:val='superscript'/>", "<w:vertAlign w:val='subscript'/>"
    body = (
        r("EUR 1,240")
        + r("5", up)
        + r("0", up)
        + r(", 9")
        + r("2", down)
        + r(" 10")
        + r("9", "<w:position w:val='8'/>")
    )
    assert read(body + r(" 10") + r("1", "<w:position w:val='1'/>")).text == "EUR 1,240^50, 9_2 10^9 101"


def test_struck_out_text_is_marked_and_counted(read: Read) -> None:
    once, twice = "<w:strike/>", "<w:dstrike/>"
    parsed = read(r("rent ") + r("90", once) + r("0", once) + r(" 950, ") + r("three", twice) + r(" six"))
    assert parsed.text == "rent ~~900~~ 950, ~~three~~ six"
    assert parsed.notes == ("struck-out text, marked ~~ ~~: 8 characters",)
    assert read(r("900", "<w:strike w:val='0'/>")).text == "900"


def test_fonts_of_signs(read: Read) -> None:
    symbol = "<w:rFonts w:ascii='Symbol' w:hAnsi='Symbol'/>"
    body = r("5 ") + r("m", symbol) + r("g ") + "<w:r><w:sym w:font='Wingdings' w:char='F0FE'/></w:r>" + r(" yes")
    assert read(body).text == "5 \u00b5g [x] yes"
    only_other = "<w:rFonts w:ascii='Arial' w:hAnsi='Symbol'/>"
    assert read(r("m\uf0b3", only_other)).text == "m\u2265"
    themed = "<w:rFonts w:ascii='Symbol' w:hAnsi='Symbol' w:asciiTheme='minorHAnsi' w:hAnsiTheme='minorHAnsi'/>"
    assert read(r("m", themed)).text == "m"
    fonts = "<w:font w:name='House Icons'><w:charset w:val='02'/></w:font>"
    parsed = read(r("ab", "<w:rFonts w:ascii='House Icons' w:hAnsi='House Icons'/>"), fonts=fonts)
    assert parsed.text == "\ufffd\ufffd"
    assert parsed.notes == ("signs of symbol fonts that are in no table, written as U+FFFD: 2",)


def test_what_is_bound_is_shown(read: Read) -> None:
    def lease(stored: str, value: str = "1,000", kind: str = "<w:text/>") -> Parsed:
        body = f"<w:p>{r('pay ')}{control(BOUND + kind, r(stored))}</w:p>"
        return read(body, bound=f"<value>{value}</value>")

    assert lease("1,000").text == "pay 1,000"
    assert not lease("1,000").unsure
    other = lease("9,000")
    assert other.text == "pay 1,000"
    assert other.unsure == ('a content control shows "1,000" by its bound XML, and "9,000" is stored in it',)
    empty = lease("Enter the rent", kind="<w:showingPlcHdr/><w:text/>")
    assert (empty.text, empty.unsure) == ("pay 1,000", ())
    assert lease("9,000", value="").unsure == (
        'a content control shows nothing by its bound XML, and "9,000" is stored',
    )
    items = "<w:dropDownList><w:listItem w:displayText='Lease' w:value='L'/></w:dropDownList>"
    assert lease("Lease", value="L", kind=items).text == "pay Lease"
    assert lease("Sale", value="L", kind=items).unsure


@pytest.mark.parametrize(
    ("stored", "form", "shown", "is_sure"),
    [
        ("01.05.2026", "dd.MM.yyyy", "01.05.2026", True),
        ("1 May 2026", "d MMMM yyyy", "2026-05-01", True),
        ("02.05.2026", "dd.MM.yyyy", "2026-05-01T00:00:00", False),
        ("1 May 2027", "d MMMM yyyy", "2026-05-01T00:00:00", False),
    ],
)
def test_bound_dates(read: Read, stored: str, form: str, shown: str, is_sure: bool) -> None:
    date = f"<w:date><w:dateFormat w:val='{form}'/></w:date>"
    parsed = read(f"<w:p>{control(BOUND + date, r(stored))}</w:p>", bound="<value>2026-05-01T00:00:00</value>")
    assert (parsed.text, not parsed.unsure) == (shown, is_sure)


def test_bound_paragraphs_cells_and_repeated_sections(read: Read) -> None:
    block = control(BOUND + "<w:text/>", f"<w:p>{r('9')}</w:p>")
    assert read(block, bound="<value>1</value>").text == "1"
    cell = control(BOUND + "<w:text/>", f"<w:tc><w:p>{r('9')}</w:p></w:tc>")
    row = f"<w:tbl><w:tr><w:tc><w:p>{r('rent')}</w:p></w:tc>{cell}</w:tr></w:tbl>"
    assert read(row, bound="<value>1</value>").text == "rent | 1"
    item = control("<w15:repeatingSectionItem/>", f"<w:p>{r('one')}</w:p>")
    repeated = BOUND.replace("w:dataBinding", "w15:dataBinding", 1) + "<w15:repeatingSection/>"
    assert not read(control(repeated, item), bound="<value>one</value>").unsure
    assert read(control(repeated, item), bound="<value>one</value><value>two</value>").unsure == (
        "a repeated section is shown 2 times by its bound XML, and stored 1 times",
    )


def test_a_path_that_is_not_followed_and_a_store_that_is_not_there(read: Read) -> None:
    odd = BOUND.replace("/x:lease[1]/x:value[1]", "//*[last()]")
    assert read(f"<w:p>{control(odd, r('9'))}</w:p>", bound="<value>1</value>").unsure == (
        'a content control is bound by a path that is not followed: "9" is stored in it',
    )
    gone = read(f"<w:p>{control(BOUND, r('9'))}</w:p>")
    assert (gone.text, gone.unsure) == ("9", ())


def test_prompts_are_no_values(read: Read) -> None:
    parsed = read(r("Name: ") + control("<w:showingPlcHdr/><w:text/>", r("Click here to enter text.")) + r("end"))
    assert parsed.text == "Name: end"
    assert parsed.notes == ('prompts of content controls without a value, left out: 1 ("Click here to enter text.")',)
    assert not parsed.unsure
    assert not read(r("x") + control("<w:showingPlcHdr/>", r("Press 1, or type"))).unsure
    assert read("x" and r("x") + control("<w:showingPlcHdr/>", r("pay 9,000"))).unsure == (
        'a content control shows "pay 9,000", which it says is a prompt and no value',
    )


def test_boxes_to_tick(read: Read) -> None:
    def box(checked: int, sign: str) -> Parsed:
        said = f"<w14:checkbox><w14:checked w14:val='{checked}'/></w14:checkbox>"
        return read(control(said, r(sign)).join(["<w:p>", "</w:p>"]))

    assert (box(1, "\u2612").text, box(0, "\u2610").text) == ("[x]", "[ ]")
    assert not box(1, "\u2612").unsure
    assert box(1, "\u2610").unsure == ('a box to tick has a tick by its state, and "\u2610" is stored in it',)


def test_lists_to_choose_from(read: Read) -> None:
    entries = "<w:listEntry w:val='Employment'/><w:listEntry w:val='Lease'/>"
    form = f"<w:ffData><w:ddList><w:result w:val='1'/>{entries}</w:ddList></w:ffData>"
    usual = f"<w:ffData><w:ddList><w:default w:val='1'/>{entries}</w:ddList></w:ffData>"
    assert read(r("Kind: ") + field(" FORMDROPDOWN ", form=form)).text == "Kind: Lease"
    assert read(r("Kind: ") + field(" FORMDROPDOWN ", form=usual)).text == "Kind: Lease"
    assert read(field("FORMDROPDOWN", form=form.replace("<w:result w:val='1'/>", ""))).text == "Employment"
    assert read(r("Kind: ") + field(" FORMDROPDOWN ", "Lease", form=form)).unsure == ()
    other = read(r("Kind: ") + field(" FORMDROPDOWN ", "Employment", form=form))
    assert other.text == "Kind: Lease"
    assert other.unsure == ('a list shows "Lease", and "Employment" is stored in it',)


@pytest.mark.parametrize(
    ("code", "result", "is_sure"),
    [
        ("=1000*2", "2,000.00", True),
        ("=1000*2 \\# &quot;#.##0,00&quot;", "2.000,00", True),
        ("=10/3", "3.33", True),
        ("=-5", "-5", True),
        ("=1000*2", "9,000", False),
        ("=5", "-5", False),
        ("=SUM(ABOVE)", "7", True),
        ("=9**9**9", "1", True),
        ('QUOTE "pay 1,000"', "pay 9,000", False),
        ('QUOTE "pay 1,000"', "pay 1,000", True),
        ("REF rent", "950", True),
        ("DATE", "3 May 2026", True),
        ("DATE \\@ yyyy", "May 2026", True),
        ("TIME", "14:30", True),
        ("DATE", "9000", False),
        ("DATE", "terminated", False),
        ("PAGE", "7", True),
        ("PAGE", "xii", True),
        ("PAGE", "9000", False),
        ("NUMPAGES", "pay now", False),
    ],
)
def test_results_that_their_code_contradicts(read: Read, code: str, result: str, is_sure: bool) -> None:
    parsed = read(field(code, result))
    assert (parsed.text, not parsed.unsure) == (result, is_sure)


def test_results_that_are_computed_anew(read: Read) -> None:
    dirty = read(field("REF rent", "950", dirty=" w:dirty='1'"))
    assert dirty.unsure == ('a field (REF) is computed anew at opening, and "950" is stored as its result',)
    assert read(field("DOCPROPERTY Rent", "950"), settings="<w:updateFields/>").unsure
    assert not read(field("PAGEREF rent", "7"), settings="<w:updateFields/>").unsure
    simple = f"<w:fldSimple w:instr='=1+1'>{r('3')}</w:fldSimple>"
    assert read(simple).unsure == ('a formula comes to 2, and "3" is stored as its result',)


def test_fields_that_draw_their_code(read: Read) -> None:
    assert read(r("5 ") + field('SYMBOL 109 \\f "Symbol" \\s 11') + r("g")).text == "5 \u00b5g"
    assert read(r("x ") + field("SYMBOL 254 \\f Wingdings")).text == "x [x]"
    assert read(r("1") + field("EQ \\f(1,2)")).text.split() == ["1", "1/2"]
    assert read(r("10") + field("EQ \\s\\up8(9)")).text == "10^9"


def test_letters_in_the_opposite_order(read: Read) -> None:
    assert read(r("pay ") + f"<w:bdo w:val='rtl'>{r('0001')}</w:bdo>").unsure == (
        'letters are drawn in the opposite order: "0001"',
    )
    assert not read(f"<w:bdo w:val='rtl'>{r(chr(0x5D0) * 4)}</w:bdo>").unsure


def test_the_reading_of_a_ruby_stands_in_brackets(read: Read) -> None:
    ruby = f"<w:r><w:ruby><w:rt>{r('kanji')}</w:rt><w:rubyBase>{r('base')}</w:rubyBase></w:ruby></w:r>"
    assert read(ruby).text == "base(kanji)"


def test_alternatives_that_say_different_things(read: Read) -> None:
    def two(first: str, second: str) -> Parsed:
        box = "<w:pict><w:txbxContent><w:p>{}</w:p></w:txbxContent></w:pict>"
        return read(
            "<w:p>" + r("x") + "<w:r><mc:AlternateContent>"
            f"<mc:Choice Requires='wps'>{box.format(first)}</mc:Choice>"
            f"<mc:Fallback>{box.format(second)}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
        )

    assert two(r("same"), r("same")).unsure == ()
    assert two(r("pay 1,000"), r("pay 9,000")).unsure == (
        'which text is shown depends on the program: "pay1,000" or "pay9,000"',
    )


def test_a_fraction_beside_a_number(read: Read) -> None:
    m = "xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math'"

    def t(text: str) -> str:
        return f"<m:r><m:t>{text}</m:t></m:r>"

    half = f"<m:f><m:num>{t('1')}</m:num><m:den>{t('2')}</m:den></m:f>"
    assert read(r("EUR 1") + f"<m:oMath {m}>{half}</m:oMath>").text == "EUR 1 1/2"


def test_controls_bound_to_the_properties_of_the_document(parse, office, rels) -> None:
    core = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
    binding = (
        f"<w:dataBinding w:prefixMappings=\"xmlns:c='{core}' xmlns:d='http://purl.org/dc/elements/1.1/'\" "
        "w:xpath='/c:coreProperties[1]/d:title[1]' w:storeItemID='{6C3C8BC8-F283-45AE-878A-BAB7291924A1}'/>"
    )
    body = f"<w:p>{control(binding + '<w:text/>', r('pay 9,000'))}</w:p>"
    links = rels(("officeDocument", "word/document.xml"), ("core-properties", "docProps/core.xml"))
    data = office("docx", {
        "word/document.xml": f"<w:document {SPACES}><w:body>{body}</w:body></w:document>",
        "docProps/core.xml": f"<c:coreProperties xmlns:c='{core}' xmlns:d='http://purl.org/dc/elements/1.1/'>"
        "<d:title>pay 1,000</d:title></c:coreProperties>",
    })  # fmt: skip
    parsed = parse(replaced(data, "_rels/.rels", links))
    assert parsed.text == "pay 1,000"
    assert parsed.unsure


def replaced(data: bytes, name: str, content: str) -> bytes:
    """The package with other content in one part."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(file, "w") as after:
        for part in before.namelist():
            after.writestr(part, content if part == name else before.read(part))
    return file.getvalue()


def test_controls_bound_to_a_document_in_one_file(read: Read) -> None:
    body = "<w:body><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:body>"
    inside = '<?xml version="1.0" encoding="utf-16"?>'
    inside += f"<pkg:package xmlns:pkg='urn:p' xmlns:w='{W}'>{body}</pkg:package>"

    def bound(text: str) -> Parsed:
        value = inside.format(text).replace("<", "&lt;")
        return read(f"<w:p>{control(BOUND, r('1,000'))}</w:p>", bound=f"<value>{value}</value>")

    assert (bound("1,000").text, bound("1,000").unsure) == ("1,000", ())
    assert bound("9,000").text == "9,000"
    assert bound("9,000").unsure


def test_documents_in_other_files_are_noted(parse, office, rels) -> None:
    links = rels(("subDocument", "chapter2.docx"))
    body = f"<w:document {SPACES}><w:body><w:p>{r('one')}</w:p></w:body></w:document>"
    data = office("docx", {"word/document.xml": body, "word/_rels/document.xml.rels": links})
    assert parse(data).notes == ("parts of the document in files of their own, not read: 1",)
