"""Charts and text boxes of Excel that keep something else than their cells show."""

import io
import zipfile
from collections.abc import Callable

import xlsxwriter

from tests.pipeline.parse.formats.test_xlsx import workbook

DRAWN = "charts and text boxes that show something else than their cells: "


def charted(cells: list[float], kept: list[float], name: str = "Sales") -> bytes:
    """A workbook with a chart over A1:A3 and a name in B1, that keeps other numbers."""

    def fill(made: xlsxwriter.Workbook) -> None:
        sheet = made.add_worksheet("A")
        sheet.write_column(0, 0, kept)
        sheet.write(0, 1, "Sales")
        chart = made.add_chart({"type": "column"})
        chart.add_series({"values": f"=A!$A$1:$A${len(kept)}", "name": "=A!$B$1"})
        sheet.insert_chart("D1", chart)

    def changed(part: str, text: str) -> str:
        for before, after in zip(kept, cells, strict=True):
            text = text.replace(f"<v>{before}</v>", f"<v>{after}</v>") if "worksheets" in part else text
        return text.replace("Sales", name) if "sharedStrings" in part else text

    return rewritten(workbook(fill), changed)


def rewritten(data: bytes, change: Callable[[str, str], str]) -> bytes:
    """A package with other texts in its parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(buffer, "w") as target:
        for name in source.namelist():
            target.writestr(name, change(name, source.read(name).decode()))
    return buffer.getvalue()


def test_charts_that_keep_other_numbers_than_their_cells(parse) -> None:
    assert parse(charted([100, 200, 300], [100, 200, 300])).unsure == ()
    assert parse(charted([100, 900, 300], [100, 200, 300])).unsure == (DRAWN + "1 (chart '200' of A!$A$1:$A$3)",)
    assert parse(charted([1], [1], name="Losses")).unsure == (DRAWN + "1 (chart 'Sales' of A!$B$1)",)


def test_text_boxes_that_show_a_cell(parse) -> None:
    def boxed(cell: float | str, text: str) -> tuple[str, ...]:
        def fill(made: xlsxwriter.Workbook) -> None:
            sheet = made.add_worksheet("A")
            sheet.write(0, 0, cell)
            sheet.insert_textbox(2, 2, text, {"textlink": "=A!$A$1"})

        return parse(workbook(fill)).unsure

    assert boxed(1000, "1,000.00 EUR") == boxed("approved", "approved") == boxed(46203, "30.06.2026") == ()
    assert boxed(9000, "1,000.00") == (DRAWN + "1 (text box '1,000.00' of A!$A$1)",)
    assert boxed("rejected", "approved") == (DRAWN + "1 (text box 'approved' of A!$A$1)",)
