"""XML: values with their names, prose as prose, nothing expanded, nothing mended."""

import base64

import pytest

from pipeline.errors import Failure

INVOICE = """<?xml version="1.0" encoding="UTF-8"?>
<!-- no text --><?no text?>
<ubl:Invoice xmlns:ubl="urn:x" xmlns:cbc="urn:y" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="urn:x x.xsd">
  <cbc:ID>4711</cbc:ID><cbc:IssueDate>2026-11-22</cbc:IssueDate><cbc:Note><![CDATA[First <line>
    second]]></cbc:Note>
  <ubl:Supplier><ubl:Party><cbc:Name>Müller &amp; Co</cbc:Name></ubl:Party></ubl:Supplier>
  <ubl:Line><cbc:ID>1</cbc:ID><cbc:Amount currencyID="EUR">100.00</cbc:Amount>
  <ubl:Item><cbc:Name>Screw</cbc:Name></ubl:Item></ubl:Line>
  <ubl:Line><cbc:ID>2</cbc:ID><cbc:Amount currencyID="EUR" kind="net">19.00</cbc:Amount></ubl:Line>
  <ubl:Total><cbc:PayableAmount currencyID="EUR">119.00</cbc:PayableAmount></ubl:Total><ubl:Empty/>
</ubl:Invoice>"""

ARTICLE = """<!DOCTYPE article PUBLIC "-//NLM//DTD JATS" "JATS.dtd">
<article><front><article-meta><article-id pub-id-type="doi">10.1/x</article-id><title-group>
<article-title>On <italic>Ducks</italic></article-title></title-group><abstract><title>Abstract</title><p>Short.</p>
</abstract></article-meta></front><body><sec><title>Methods</title><p>We counted<xref>1</xref>
  ducks&nbsp;daily.<list><list-item><p>first</p></list-item></list>Then rest.</p>
<sec><title>Sites</title><table-wrap><table><tr><th>Year</th><th>n</th></tr><tr><td>2019</td><td>7</td></tr></table>
</table-wrap></sec></sec></body></article>"""


def test_data_is_names_and_values_by_record(parse) -> None:
    parsed = parse(INVOICE.encode(), "x.xml")
    assert parsed.media_type == "application/xml"
    assert parsed.text == (
        "Invoice\n\nID: 4711\nIssueDate: 2026-11-22\nNote: First <line>\nsecond\nSupplier/Party/Name: Müller & Co\n\n"
        "Line[1]\n\nID: 1\nAmount (EUR): 100.00\nItem/Name: Screw\n\n"
        "Line[2]\n\nID: 2\nAmount (currencyID=EUR, kind=net): 19.00\n\nInvoice\n\nTotal/PayableAmount (EUR): 119.00"
    )
    assert parsed.section_of(parsed.text.index("19.00")) == "Invoice > Line[2]"
    assert parsed.section_of(parsed.text.index("119.00")) == "Invoice"


def test_an_article_is_headings_paragraphs_and_rows(parse) -> None:
    parsed = parse(ARTICLE.encode(), "x.xml")
    assert parsed.text == (
        "article-id (doi): 10.1/x\n\nOn Ducks\n\nAbstract\n\nShort.\n\nMethods\n\nWe counted1 ducks daily.\n\nfirst\n\n"
        "Then rest.\n\nSites\n\nYear | n\n2019 | 7"
    )
    assert parsed.section_of(parsed.text.index("2019")) == "On Ducks > Methods > Sites"
    assert parsed.notes == ()


def test_attributes_without_a_value_beside_them(parse) -> None:
    parsed = parse(b'<order id="7" xml:lang="de"><item sku="A1" qty="3"/><item/><who>Ann <b>Lee</b> x</who></order>')
    assert parsed.text == "order\n\n@id: 7\nitem[1]/@sku: A1\nitem[1]/@qty: 3\nwho: Ann Lee x"


def test_a_drawing_is_its_words(parse) -> None:
    parsed = parse(
        b'<svg xmlns="http://www.w3.org/2000/svg"><title>Plan</title>'
        b'<g><text x="1">Room <tspan>A</tspan></text></g></svg>'
    )
    assert parsed.text == "Plan\nRoom A"


def test_a_file_in_an_invoice_is_a_document_of_its_own(parse_members) -> None:
    data = base64.b64encode(b"%PDF-1.7 and more").decode()
    parsed, members = parse_members(
        f'<I><N>1</N><AttachmentBinaryObject mimeCode="application/pdf" filename="a.pdf">\n {data[:8]}\n {data[8:]}\n'
        '</AttachmentBinaryObject><AttachmentBinaryObject filename="b.bin">no base64!</AttachmentBinaryObject>'
        "</I>".encode()
    )
    assert parsed.text.splitlines()[3:] == [
        "AttachmentBinaryObject[1] (mimeCode=application/pdf, filename=a.pdf): a.pdf",
        "AttachmentBinaryObject[2] (b.bin): b.bin",
    ]
    assert members == {"a.pdf": b"%PDF-1.7 and more", "b.bin": Failure.CORRUPT}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "koi8-r"])
def test_the_declared_encoding_holds(parse, encoding: str) -> None:
    word = "Привет" if encoding == "koi8-r" else "Grüße"
    assert parse(f'<?xml version="1.0" encoding="{encoding}"?><a>{word}</a>'.encode(encoding)).text == f"a: {word}"


@pytest.mark.parametrize(
    "data",
    [
        b'<?xml version="1.0"?><a><b>cut off',
        b'<?xml version="1.0"?>\n<a>\n<b></a>',
        b'<?xml version="1.0"?><a>&nosuch;</a>',
        b'<?xml version="1.0"?><a/><b/>',
        b"<?xml version='1.0'?>" + b"<a>" * 5000 + b"x" + b"</a>" * 5000,
    ],
)
def test_what_is_not_well_formed_is_corrupt_with_its_line(fail, data: bytes) -> None:
    error = fail(data, "x.xml")
    assert error.failure is Failure.CORRUPT
    assert f"line {data.count(bytes([10])) + 1}, column" in error.reason


def test_deep_but_sane_is_read(parse) -> None:
    assert parse(b"<a>" * 1500 + b"x" + b"</a>" * 1500).text.endswith("a: x")


def test_entities_of_its_own_are_not_expanded(parse, fail) -> None:
    head = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l0 "ha"><!ENTITY f SYSTEM "file:///etc/passwd">{}]>'
    parsed = parse(f"{head}<a>one &l0; &f; two</a>".replace("{}", "").encode())
    assert parsed.text == "a: one &l0; &f; two"
    assert parsed.notes == ("entities that are not expanded: &l0;, &f;",)
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    for element in ("<a>&l11;</a>", '<a x="&l11;">y</a>'):
        error = fail(head.format(laughs).encode() + element.encode())
        assert (error.failure, "amplification" in error.reason) == (Failure.CORRUPT, True)


@pytest.mark.parametrize(
    "data", [b"<b>bold</b> and a <i>tail>", b"<Ann> hi\n<Bo> hello\n", b"<nav>a<br>b</nav>", b"<a", b"<"]
)
def test_what_only_looks_like_xml_is_text(parse, data: bytes) -> None:
    parsed = parse(data)
    assert (parsed.media_type, parsed.text) == ("text/plain", data.decode().strip("\n"))


def test_a_prefix_is_no_paragraph_of_html(parse) -> None:
    parsed = parse(b'<p:FatturaElettronica xmlns:p="x"><Numero>12</Numero></p:FatturaElettronica>')
    assert (parsed.media_type, parsed.text) == ("application/xml", "FatturaElettronica\n\nNumero: 12")


def test_many_of_one_name_in_bounded_time(parse) -> None:
    parsed = parse(b"<r>" + b"<x><a>1</a><b>2</b></x>" * 30_000 + b"</r>")
    assert parsed.text.endswith("x[30000]\n\na: 1\nb: 2")


def test_signs_in_articles_are_marked(parse) -> None:
    math = (
        '<m:math xmlns:m="http://www.w3.org/1998/Math/MathML"><m:mfrac><m:mn>1</m:mn><m:mn>2</m:mn></m:mfrac></m:math>'
    )
    text = "EUR 1,240<sup>1</sup> and <italic>10<sup>9</sup></italic>/l, <strike>900</strike> 950"
    text += ", 5<hi rend='superscript'>2</hi>"
    parsed = parse(f"<article><title>A</title><p>{text}, {math}</p></article>".encode())
    assert parsed.text == "A\n\nEUR 1,240^1 and 10^9/l, ~~900~~ 950, 5^2, 1/2"
