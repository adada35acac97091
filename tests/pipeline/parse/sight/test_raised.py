"""Raised, lowered and struck-out runs: which marks keep them apart from what stands beside them."""

import pytest

from pipeline.parse.sight.hidden import HiddenText
from pipeline.parse.sight.raised import lowered, marked, raised, struck
from pipeline.parse.writer import TextWriter


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("EUR 1,240" + raised("1"), "EUR 1,240^1"),
        ("EUR 1,240" + raised("1") + " net", "EUR 1,240^1 net"),
        ("EUR 1,240." + raised("3") + " It", "EUR 1,240.^3 It"),
        ("10" + raised("9") + "/l", "10^9/l"),
        ("10" + raised("-9") + " m", "10^-9 m"),
        ("10" + raised("1") + raised("2"), "10^12"),
        ("120 m" + raised("2"), "120 m^2"),
        ("1,240" + raised("(1)"), "1,240^(1)"),
        ("1,240" + raised("a"), "1,240^a"),
        ("1,240" + raised(" 1"), "1,240 ^1"),
        ("1,240 " + raised("1"), "1,240 ^1"),
        ("total " + raised("1"), "total 1"),
        ("1,240" + raised("*"), "1,240*"),
        ("30" + raised("th") + " June", "30th June"),
        ("M" + raised("me") + " Dupont", "Mme Dupont"),
        (raised("1") + "/" + lowered("2") + " cup", "1/2 cup"),
        ("1" + raised("1") + "\u2044" + lowered("2"), "1^1\u20442"),
        (raised("1") + "240 EUR", "^1^240 EUR"),
        ("H" + lowered("2") + "O", "H2O"),
        ("log" + lowered("10") + "5", "log_10_5"),
        ("950" + lowered("2"), "950_2"),
        ("rent " + struck("900") + " 950", "rent ~~900~~ 950"),
        ("rent " + struck("9") + struck("00") + "950", "rent ~~900~~950"),
        (struck("six") + " " + struck("months "), "~~six months~~ "),
        (struck("one\ntwo") + "3", "~~one~~\n~~two~~3"),
        (struck(raised("1")) + "240", "~~1~~240"),
        ("1,240" + struck(raised("1")), "1,240~~1~~"),
        ("a" + raised("") + struck("") + struck(" ") + "b", "a b"),
        ("1\ufdd12\ufdd03\ufdd4", "123"),
    ],
)
def test_a_mark_stands_where_two_would_be_one_number(text: str, shown: str) -> None:
    assert marked(text)[0] == shown


def test_the_writer_puts_the_marks_in_lines_rows_and_titles_and_counts_what_is_struck_out() -> None:
    hidden = HiddenText(drop=True)
    writer = TextWriter(1000, hidden)
    inner = writer.inner()
    inner.line("rent " + struck("900 EUR") + " 950")
    writer.heading("Total" + raised("1"), 1)
    writer.row(["m" + raised("2"), struck("12")])
    writer.block(inner.finish()[0])
    assert writer.finish()[0] == "Total^1\n\nm^2 | ~~12~~\n\nrent ~~900 EUR~~ 950"
    assert writer.sections[0].title == "Total^1"
    assert hidden.notes() == ["struck-out text, marked ~~ ~~: 8 characters"]
