"""Number formats of cells: which values a code leaves blank."""

import pytest

from pipeline.parse.office.sheets.number_formats import number_format

PI, NOTHING, LOSS, TEXT = 3.14, 0.0, -7.0, None


@pytest.mark.parametrize(
    ("code", "blank"),
    [
        ("General", []), ("0.00", []), ("@", []), ("dd.mm.yyyy", []), ("[h]:mm", []), ("[$-407]#,##0.00", []),
        ("_-* #,##0.00 _€_-;-* #,##0.00 _€_-;_-* \"-\"?? _€_-;_-@_-", []),
        ("[Red]", []), ("0;-0;;@", [NOTHING]), (";;", [PI, LOSS, NOTHING]), (";;;", [PI, LOSS, NOTHING, TEXT]),
        (';;;""', [PI, LOSS, NOTHING, TEXT]), ('"";"";"";""', [PI, LOSS, NOTHING, TEXT]),
        ('" ";"  ";_x;* ', [PI, LOSS, NOTHING, TEXT]), (";;;@", [PI, LOSS, NOTHING]), ('""', [PI, LOSS, NOTHING]),
        ('0;""', [LOSS]), (';-0;0', [PI]), ("0;;@", [LOSS]), ('0;-0;0;"text"', []), ('"a;b";-0', []), (r"\;;-0", []),
        ('[>100]"";General', []), ('[>1]"";General', [PI]), ('[<0]"";[=0]"";0', [LOSS, NOTHING]),
        ('[<=-7]"";[>3]"";0', [LOSS, PI]), ("", []),
    ],
)  # fmt: skip
def test_what_a_format_leaves_blank(code: str, blank: list[float | None]) -> None:
    found = number_format(code)
    assert [one for one in (PI, NOTHING, LOSS) if not found.shows(one)] == [
        one for one in (PI, NOTHING, LOSS) if one in blank
    ]
    assert found.shows(None) == (TEXT not in blank)
    assert not (found.is_plain and blank)


@pytest.mark.parametrize(
    "code", ["0.00E+00", "##0.0E+0", "# ?/?", "0%", "0,,", "#,##0.0#", "?/8", "General", "00-00", "0.0.0"]
)
@pytest.mark.parametrize(
    "number", [5e-324, 1e-7, 0.0, -0.0, 999999.5, 1e20, 1e308, float("inf"), float("nan"), -1e-300]
)
def test_numbers_of_any_size_are_shown(code: str, number: float) -> None:
    assert number_format(code).show(number, repr(number), 0).text
