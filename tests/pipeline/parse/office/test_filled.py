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


def fonts(name: str, more: str = "") -> str:
    return f"<w:rFonts w:ascii='{name}' w:hAnsi='{name}'{more}/>"


def bound(stored: str, value: str = "1,000", kind: str = "<w:text/>") -> tuple[str, dict[str, str]]:
    return f"<w:p>{control(BOUND + kind, r(stored))}</w:p>", {"bound": f"<value>{value}</value>"}


def box(checked: int, sign: str) -> str:
    said = f"<w14:checkbox><w14:checked w14:val='{checked}'/></w14:checkbox>"
    return f"<w:p>{control(said, r(sign))}</w:p>"


def alternatives(first: str, second: str) -> str:
    shape = "<w:pict><w:txbxContent><w:p>{}</w:p></w:txbxContent></w:pict>"
    return (
        f"<w:p>{r('x')}<w:r><mc:AlternateContent><mc:Choice Requires='wps'>{shape.format(r(first))}</mc:Choice>"
        f"<mc:Fallback>{shape.format(r(second))}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
    )


UP, DOWN, STRUCK = "<w:vertAlign w:val='superscript'/>", "<w:vertAlign w:val='subscript'/>", "<w:strike/>"
THEMED = fonts("Symbol", " w:asciiTheme='minorHAnsi' w:hAnsiTheme='minorHAnsi'")
ICONS = "<w:font w:name='House Icons'><w:charset w:val='02'/></w:font>"
ITEMS = "<w:dropDownList><w:listItem w:displayText='Lease' w:value='L'/></w:dropDownList>"
ENTRIES = "<w:listEntry w:val='Employment'/><w:listEntry w:val='Lease'/>"
LIST = f"<w:ffData><w:ddList><w:result w:val='1'/>{ENTRIES}</w:ddList></w:ffData>"
ROW = f"<w:tbl><w:tr><w:tc><w:p>{r('rent')}</w:p></w:tc>{{}}</w:tr></w:tbl>"
ITEM = control("<w15:repeatingSectionItem/>", f"<w:p>{r('one')}</w:p>")
REPEATED = control(BOUND.replace("w:dataBinding", "w15:dataBinding", 1) + "<w15:repeatingSection/>", ITEM)
ODD_PATH = BOUND.replace("/x:lease[1]/x:value[1]", "//*[last()]")
PACKAGE = (
    f"&lt;?xml version='1.0' encoding='utf-16'?>&lt;pkg:package xmlns:pkg='urn:p' xmlns:w='{W}'>&lt;w:body>&lt;w:p>"
    "&lt;w:r>&lt;w:t>{}&lt;/w:t>&lt;/w:r>&lt;/w:p>&lt;/w:body>&lt;/pkg:package>"
)
FORMULA = "xmlns:m='http://schemas.openxmlformats.org/officeDocument/2006/math'"
HALF = "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f>"
RUBY = f"<w:r><w:ruby><w:rt>{r('kanji')}</w:rt><w:rubyBase>{r('base')}</w:rubyBase></w:ruby></w:r>"
PROMPT, NEW = "<w:showingPlcHdr/>", "<w:updateFields/>"
SHOWN: dict[str, tuple[str | tuple[str, dict[str, str]], str, str]] = {  # a body, its text, why it is not sure
    "raised": (r("EUR 1,240") + r("5", UP) + r("0", UP) + r(", 9") + r("2", DOWN), "EUR 1,240^50, 9_2", ""),
    "moved up": (r("10") + r("9", "<w:position w:val='8'/>"), "10^9", ""),
    "hardly moved": (r("10") + r("1", "<w:position w:val='1'/>"), "101", ""),
    "struck": (r("rent ") + r("90", STRUCK) + r("0", STRUCK) + r(" 950"), "rent ~~900~~ 950", ""),
    "struck twice": (r("three", "<w:dstrike/>") + r(" six"), "~~three~~ six", ""),
    "not struck": (r("900", "<w:strike w:val='0'/>"), "900", ""),
    "sign": (r("5 ") + r("m", fonts("Symbol")) + r("g"), "5 \u00b5g", ""),
    "sign by number": ("<w:r><w:sym w:font='Wingdings' w:char='F0FE'/></w:r>" + r(" yes"), "[x] yes", ""),
    "other font": (r("m\uf0b3", "<w:rFonts w:ascii='Arial' w:hAnsi='Symbol'/>"), "m\u2265", ""),
    "font of a theme": (r("m", THEMED), "m", ""),
    "font in no table": ((r("ab", fonts("House Icons")), {"fonts": ICONS}), "\ufffd\ufffd", ""),
    "bound": (bound("1,000"), "1,000", ""),
    "bound to another text": (
        bound("9,000"), "1,000", 'a content control shows "1,000" by its bound XML, and "9,000" is stored in it',
    ),
    "bound, with a prompt": (bound("Enter the rent", kind=PROMPT + "<w:text/>"), "1,000", ""),
    "bound to nothing": (
        bound("9,000", ""), "9,000", 'a content control shows nothing by its bound XML, and "9,000" is stored',
    ),
    "bound list": (bound("Lease", "L", ITEMS), "Lease", ""),
    "bound list, another entry": (
        bound("Sale", "L", ITEMS), "Lease",
        'a content control shows "Lease" by its bound XML, and "Sale" is stored in it',
    ),
    "bound document": (bound("1,000", PACKAGE.format("1,000")), "1,000", ""),
    "bound document, another text": (
        bound("1,000", PACKAGE.format("9,000")), "9,000",
        'a content control shows "9,000" by its bound XML, and "1,000" is stored in it',
    ),
    "bound paragraph": (
        (control(BOUND, f"<w:p>{r('9')}</w:p>"), {"bound": "<value>1</value>"}), "1",
        'a content control shows "1" by its bound XML, and "9" is stored in it',
    ),
    "bound cell": (
        (ROW.format(control(BOUND, f"<w:tc><w:p>{r('9')}</w:p></w:tc>")), {"bound": "<value>1</value>"}), "rent | 1",
        'a content control shows "1" by its bound XML, and "9" is stored in it',
    ),
    "repeated": ((REPEATED, {"bound": "<value>one</value>"}), "one", ""),
    "repeated more often": (
        (REPEATED, {"bound": "<value>one</value><value>two</value>"}), "one",
        "a repeated section is shown 2 times by its bound XML, and stored 1 times",
    ),
    "path that is not followed": (
        (f"<w:p>{control(ODD_PATH, r('9'))}</w:p>", {"bound": "<value>1</value>"}), "9",
        'a content control is bound by a path that is not followed: "9" is stored in it',
    ),
    "store that is not there": (f"<w:p>{control(BOUND, r('9'))}</w:p>", "9", ""),
    "prompt": (r("x") + control(PROMPT, r("Press 1, or type")), "x", ""),
    "prompt with an amount": (
        r("x") + control(PROMPT, r("pay 9,000")), "x",
        'a content control shows "pay 9,000", which it says is a prompt and no value',
    ),
    "ticked": (box(1, "\u2612"), "[x]", ""),
    "not ticked": (box(0, "\u2610"), "[ ]", ""),
    "tick that is not drawn": (
        box(1, "\u2610"), "[x]", 'a box to tick has a tick by its state, and "\u2610" is stored in it',
    ),
    "choice": (r("Kind: ") + field(" FORMDROPDOWN ", form=LIST), "Kind: Lease", ""),
    "usual choice": (field(" FORMDROPDOWN ", form=LIST.replace("result", "default")), "Lease", ""),
    "no choice": (field("FORMDROPDOWN", form=LIST.replace("<w:result w:val='1'/>", "")), "Employment", ""),
    "choice, stored": (field(" FORMDROPDOWN ", "Lease", form=LIST), "Lease", ""),
    "another choice": (
        field(" FORMDROPDOWN ", "Employment", form=LIST), "Lease",
        'a list shows "Lease", and "Employment" is stored in it',
    ),
    "dirty field": (
        field("REF rent", "950", dirty=" w:dirty='1'"), "950",
        'a field (REF) is computed anew at opening, and "950" is stored as its result',
    ),
    "all fields anew": (
        (field("DOCPROPERTY Rent", "950"), {"settings": NEW}), "950",
        'a field (DOCPROPERTY) is computed anew at opening, and "950" is stored as its result',
    ),
    "page anew": ((field("PAGEREF rent", "7"), {"settings": NEW}), "7", ""),
    "simple field": (
        f"<w:fldSimple w:instr='=1+1'>{r('3')}</w:fldSimple>", "3",
        'a formula comes to 2, and "3" is stored as its result',
    ),
    "field of a sign": (r("5 ") + field('SYMBOL 109 \\f "Symbol" \\s 11') + r("g"), "5 \u00b5g", ""),
    "field of a tick": (r("x ") + field("SYMBOL 254 \\f Wingdings"), "x [x]", ""),
    "field of a fraction": (r("1") + field("EQ \\f(1,2)"), "1 1/2 ", ""),
    "field of a power": (r("10") + field("EQ \\s\\up8(9)"), "10^9", ""),
    "turned": (
        r("pay ") + f"<w:bdo w:val='rtl'>{r('0001')}</w:bdo>", "pay 0001",
        'letters are drawn in the opposite order: "0001"',
    ),
    "Hebrew": (f"<w:bdo w:val='rtl'>{r(chr(0x5D0) * 4)}</w:bdo>", chr(0x5D0) * 4, ""),
    "ruby": (RUBY, "base(kanji)", ""),
    "same alternatives": (alternatives("same", "same"), "x\n\nsame", ""),
    "other alternatives": (
        alternatives("pay 1,000", "pay 9,000"), "x\n\npay 1,000",
        'which text is shown depends on the program: "pay1,000" or "pay9,000"',
    ),
    "fraction beside a number": (r("EUR 1") + f"<m:oMath {FORMULA}>{HALF}</m:oMath>", "EUR 1 1/2", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown(read: Read, name: str) -> None:
    body, text, reason = SHOWN[name]
    body, more = (body, {}) if isinstance(body, str) else body
    parsed = read(body, **more)
    assert (parsed.text, parsed.unsure) == (text, (reason,) if reason else ())


def test_what_is_counted(read: Read) -> None:
    assert read(r("900", STRUCK) + r("three", "<w:dstrike/>")).notes == ("struck-out text, marked ~~ ~~: 8 characters",)
    assert read(r("ab", fonts("House Icons")), fonts=ICONS).notes == (
        "signs of symbol fonts that are in no table, written as U+FFFD: 2",
    )
    prompt = control(PROMPT + "<w:text/>", r("Click here to enter text."))
    assert read(r("Name: ") + prompt + r("end")).notes == (
        'prompts of content controls without a value, left out: 1 ("Click here to enter text.")',
    )


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


def test_documents_in_other_files_are_noted(parse, office, rels) -> None:
    links = rels(("subDocument", "chapter2.docx"))
    body = f"<w:document {SPACES}><w:body><w:p>{r('one')}</w:p></w:body></w:document>"
    data = office("docx", {"word/document.xml": body, "word/_rels/document.xml.rels": links})
    assert parse(data).notes == ("parts of the document in files of their own, not read: 1",)
