"""Formulas in one line, of MathML and of Office."""

import pytest
from lxml import etree

from pipeline.parse.markup.formula import formula_text
from pipeline.parse.sight.raised import struck

MATHML, OFFICE = "http://www.w3.org/1998/Math/MathML", "http://schemas.openxmlformats.org/officeDocument/2006/math"


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac>", "1/2"),
        ("<mn>1</mn><mfrac><mn>1</mn><mn>2</mn></mfrac>", "1 1/2"),
        ("<mfrac><mn>1</mn><mn>2</mn></mfrac><mn>3</mn>", "1/2 3"),
        ("<msup><mn>10</mn><mn>9</mn></msup><mn>5</mn><mi>x</mi>", "10^9 5x"),
        ("<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>4</mn></mfrac>", "(a+b)/4"),
        ("<msubsup><mi>x</mi><mn>1</mn><mn>2</mn></msubsup>", "x_1^2"),
        ("<msup><mn>10</mn><mrow><mo>-</mo><mn>9</mn></mrow></msup>", "10^(-9)"),
        ("<mroot><mn>8</mn><mn>3</mn></mroot><mo>+</mo><msqrt><mn>2</mn></msqrt>", "3^√8+√2"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>2</mn></mtd></mtr><mtr><mtd><mn>3</mn></mtd></mtr></mtable>",
            "1 2; 3",
        ),
        ("<semantics><mn>5</mn><annotation>five</annotation></semantics>", "5"),
        ("<msqrt><mn>4</mn></msqrt><mn>5</mn>", "√(4)5"),
        ("<msqrt><mn>4</mn></msqrt><mi>x</mi>", "√(4)x"),
        ("<mn>3</mn><msqrt><mi>a</mi><mo>+</mo><mn>4</mn></msqrt><mn>5</mn>", "3√(a+4)5"),
        ("<mn>1</mn><mspace width='1em'/><mn>2</mn>", "1 2"),
        ("<mn>1</mn><mspace width='thinmathspace'/><mn>2</mn>", "1 2"),
        ("<mn>1</mn><mspace width='0.0em'/><mspace width='-1em'/><mspace/><mn>2</mn>", "12"),
        ("<mn>1</mn><mtext>\xa0</mtext><mn>2</mn><mphantom><mn>7</mn></mphantom><mn>3</mn>", "1 2 3"),
        ("<menclose notation='radical'><mn>2</mn></menclose>", "√2"),
        ("<menclose notation='box updiagonalstrike'><mn>900</mn></menclose>", struck("900")),
        ("<menclose notation='horizontalstrike'><mn>900</mn></menclose><mn>5</mn>", struck("900") + "5"),
        ("<menclose notation='box'><mn>900</mn></menclose>", "900"),
        ("<munderover><mo>∑</mo><mn>1</mn><mn>9</mn></munderover><mi>i</mi>", "∑_1^9i"),
    ],
)
def test_mathml(inside: str, text: str) -> None:
    assert formula_text(etree.fromstring(f'<math xmlns="{MATHML}">{inside}</math>')) == text


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        ("<f><num><r><t>1</t></r></num><den><r><t>2</t></r></den></f>", "1/2"),
        ("<r><t>2</t></r><d><e><r><t>3+4</t></r></e></d>", "2(3+4)"),
        ('<d><dPr><begChr m:val="["/><endChr m:val="]"/></dPr><e><r><t>3</t></r></e></d>', "[3]"),
        ("<sSubSup><e><r><t>x</t></r></e><sub><r><t>1</t></r></sub><sup><r><t>2</t></r></sup></sSubSup>", "x_1^2"),
        ("<rad><deg><r><t>3</t></r></deg><e><r><t>8</t></r></e></rad>", "3^√8"),
        ("<rad><radPr/><deg/><e><r><t>8</t></r></e></rad>", "√8"),
        (
            '<nary><naryPr><chr m:val="∑"/></naryPr><sub><r><t>1</t></r></sub><sup><r><t>9</t></r></sup>'
            "<e><r><t>i</t></r></e></nary>",
            "∑_1^9 i",
        ),
    ],
)
def test_office(inside: str, text: str) -> None:
    root = etree.fromstring(f'<oMath xmlns="{OFFICE}" xmlns:m="{OFFICE}">{inside}</oMath>')
    assert formula_text(root) == text


@pytest.mark.parametrize(("value", "text"), [("", struck("900")), (" m:val='1'", struck("900")), (" m:val='0'", "900")])
def test_a_box_of_office_with_a_line_through_it(value: str, text: str) -> None:
    box = f"<m:borderBox><m:borderBoxPr><m:strikeH{value}/></m:borderBoxPr><m:e><m:r><m:t>900</m:t></m:r></m:e>"
    assert formula_text(etree.fromstring(f"<m:oMath xmlns:m='{OFFICE}'>{box}</m:borderBox></m:oMath>")) == text
