"""A text is divided without losing a character of it, and what is marked in it stands where it should."""

import random
from itertools import pairwise

import pytest

from pipeline.document import Row, Section
from pipeline.view.places import Place, places_of
from pipeline.view.structure import Block, Marked, Piece, blocks_of
from pipeline.view.unseen import Shown
from pipeline.view.windows import window_at, windows_of

TEXT = "Title\n\nOne line\nand another\n\nName | Sum\nLamp | 12\n\n- first\n- second\n\nThe end"


def pieces(blocks: list[Block]) -> list[Piece]:
    return [piece for one in blocks for line in one.lines for cell in line.cells for piece in cell]


def blocks(marked: Marked) -> list[Block]:
    return list(blocks_of(marked, 0, len(marked.text)))


def test_blocks_are_what_the_layout_says() -> None:
    found = blocks(Marked(TEXT, sections=(Section(0, 2, "heading", "Title"),)))
    assert [(one.kind, one.level, len(one.lines)) for one in found] == [
        ("heading", 2, 1), ("text", 0, 1), ("table", 0, 2), ("list", 0, 2), ("text", 0, 1),
    ]  # fmt: skip
    assert [piece.text for cell in found[2].lines[1].cells for piece in cell] == ["Lamp", "12"]


def test_pages_sheets_and_parts_are_named() -> None:
    sections = (Section(0, 0, "sheet", "Sums"), Section(7, 0, "sheet", "More"))
    found = blocks(Marked(TEXT, page_starts=(0, 7, 29), sections=sections))
    assert [one.called for one in found if one.kind == "page"] == ["Sheet 1: Sums", "Sheet 2: More", "Page 3"]
    mail = blocks(Marked(TEXT, sections=(Section(0, 0, "mail", "Headers"), Section(7, 0, "mail", "Body"))))
    assert [one.called for one in mail if one.kind == "page"] == ["Headers", "Body"]


def test_evidence_is_marked_where_it_stands() -> None:
    start = TEXT.index("line\nand")
    found = pieces(blocks(Marked(TEXT, (Place(1, start, start + 8, ""), Place(2, start + 5, start + 12, "")))))
    marked = [(piece.text, piece.places, piece.begins, piece.ends) for piece in found if piece.places]
    assert marked == [("line\n", (1,), (1,), ()), ("and", (1, 2), (2,), (1,)), (" ano", (2,), (), (2,))]


def test_evidence_that_crosses_cells_begins_once() -> None:
    start = TEXT.index("Sum")
    found = pieces(blocks(Marked(TEXT, (Place(1, start, start + 8, ""),))))
    assert [(piece.text, piece.begins, piece.ends) for piece in found if piece.places] == [
        ("Sum", (1,), ()), ("Lamp", (), (1,)),
    ]  # fmt: skip


def test_hidden_text_is_shown_where_it_was_left_out_or_stands() -> None:
    kept = TEXT.index("another")
    shown = (Shown("tiny", "secret", 11, 11), Shown("covered", "another", kept, kept + 7), Shown("tiny", "z", 76, 76))
    found = pieces(blocks(Marked(TEXT, shown=shown)))
    assert [(piece.text, piece.hidden, piece.start, piece.end) for piece in found if piece.hidden] == [
        ("secret", "tiny", 11, 11), ("another", "covered", kept, kept + 7), ("z", "tiny", 76, 76),
    ]  # fmt: skip
    assert "".join(piece.text for piece in found).startswith("TitleOne secretline")


def test_hidden_text_of_an_empty_text_is_shown() -> None:
    assert [piece.text for piece in pieces(blocks(Marked("", shown=(Shown("tiny", "all of it", 0, 0),))))] == [
        "all of it"
    ]


@pytest.mark.parametrize("seed", range(60))
def test_every_character_is_shown_once_and_every_piece_says_where_it_stands(seed: int) -> None:
    chance = random.Random(seed)
    signs = ["a", "b c", "\n", "\n\n", " | ", "- ", "1. ", "\n\n\n", "x"]
    text = "".join(chance.choice(signs) for _ in range(200))
    spans = [sorted(chance.choices(range(len(text) + 1), k=2)) for _ in range(12)]
    places = tuple(Place(number, start, end, "") for number, (start, end) in enumerate(spans, 1))
    at = sorted(chance.choices(range(len(text) + 1), k=6))
    shown = tuple(Shown("tiny", f"h{number}", one, one) for number, one in enumerate(at))
    starts = tuple(sorted({0, *chance.choices(range(len(text)), k=3)}))
    found = []
    for start, end in windows_of(text, chance.choice((30, 90, 1000))):
        found += blocks_of(Marked(text, places, shown, starts), start, end)
    real = [piece for piece in pieces(found) if piece.end > piece.start]
    assert all(text[piece.start : piece.end] == piece.text for piece in real)
    left_out = "".join(text[a.end : b.start] for a, b in pairwise(real))
    assert set(left_out) <= {"\n", " ", "|"}
    assert _letters("".join(piece.text for piece in real)) == _letters(text)
    for place in places:
        wanted = set(range(place.start, place.end))
        there = {n for piece in real if place.number in piece.places for n in range(piece.start, piece.end)}
        assert there <= wanted
        assert set("".join(text[n] for n in wanted - there)) <= {"\n", " ", "|"}
    assert {piece.text for piece in pieces(found) if piece.hidden} == {one.text for one in shown}


def _letters(text: str) -> str:
    return "".join(one for one in text if one not in "\n |")


@pytest.mark.parametrize("size", [10, 100, 5000])
def test_windows_follow_one_another(size: int) -> None:
    text = "line\n\nline two\n" * 100 + "x" * 3000
    windows = windows_of(text, size)
    assert windows[0][0] == 0
    assert windows[-1][1] == len(text)
    assert all(a[1] == b[0] for a, b in pairwise(windows))
    assert all(0 < end - start <= size for start, end in windows)
    assert all(windows[window_at(windows, at)][0] <= at for at in range(0, len(text), 97))
    assert windows_of("") == [(0, 0)]
    assert window_at([(0, 0)], 5) == 0


def test_places_are_numbered_in_the_order_of_the_answer() -> None:
    def at(start: int, end: int, page: int | None = None) -> dict[str, object]:
        return {"page": page, "start": start, "end": end, "text": "t", "section": "S"}

    def field(name: str, place: dict[str, object] | None) -> dict[str, object]:
        return {"name": name, "type": "text", "value": "v", "score": 0.5, "evidence": place}

    row = Row({
        "fields": [field("total", at(5, 9, 2)), field("none", None), field("sum", at(5, 9, 2))],
        "sentences": [{"passages": [at(1, 2)]}],
        "evidence": [at(5, 9, 2), at(20, 30)],
    })  # fmt: skip
    assert [(one.number, one.start, one.page, one.speaks_for) for one in places_of(row)] == [
        (1, 5, 2, ("total", "sum")), (2, 1, None, ("sentence 1",)), (3, 20, None, ()),
    ]  # fmt: skip
    assert places_of(Row({"fields": None, "evidence": None})) == ()
