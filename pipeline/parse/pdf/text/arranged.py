"""The order and the marks of a page's text where pdfium leaves them out.

pdfium gives characters as they are painted. So a footnote's sign becomes a digit of the amount before it, lines of two
columns that are painted by turns are read across, and a table that is painted column by column loses its rows. What is
painted as most pages are, is left as it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.text.lines import Line, crosses, crossing, is_for, is_fraction
from pipeline.parse.pdf.text.page import Page
from pipeline.parse.sight.raised import lowered, raised, struck

_SHIFTED = (0.12, 0.8)  # of the height of letters by which a sign stands above or below them
_ALIKE = 0.1  # of it by which letters on one line may differ in height
_SMALLER = 0.9  # times as high
_NEAR = 0.6  # of the height between a sign and what it belongs to
_LINE = 0.6  # of the height from which on two texts stand on two lines
_STACKED, _LETTER = 4.0, 1.2  # heights that two texts are wide at most of which the second may be taken for a letter
_SPACE = 0.2
_CELL = 1.5  # heights between two cells
_ROWS = 4  # of columns that are painted by turns
_COLUMN = 10.0  # heights that lines of a column are wide
_FILLED = 0.6  # of a column that its lines fill
_EDGE = 3.0  # points by which lines of one column may differ in where they begin
_TABLE = 3  # rows that columns of a table have in common
_SHARED = 0.8  # of their rows
_NARROW = 8.0  # heights that cells of one column of a table are wide at most
_WORD = 2  # characters that are struck out together

Piece = str | tuple[int, int]


@dataclass
class Cell:
    """Texts of a page in a row, numbered from `first` to before `end`, on one line."""

    first: int
    end: int
    left: float
    right: float
    y: float
    height: float


@dataclass
class Layout:
    """The texts of a page as they are painted: where each begins and its height, the boxes, and the lines that are
    drawn beside the text."""

    items: Sequence[int]
    lines: Sequence[Line]
    boxes: Sequence[Rectangle]
    rules: Sequence[Rectangle] = ()
    strikes: Sequence[Rectangle] = ()


def arranged(page: Page, layout: Layout) -> list[Piece]:
    """The page's text, which is loaded, as places in it from and to, and what is put between these."""
    steps, struck_out = _steps(layout), crossing(layout.lines, layout.rules)
    blocks = [*(_tables(layout) if steps.up else ()), *(_columns(layout) if steps.jumps >= _ROWS else ())]
    text = page.text()
    if not (steps.signs or steps.stacked or struck_out or blocks or layout.strikes):
        return [(0, len(text))]
    return _Arrangement(page, layout, text).pieces(steps, struck_out, blocks)


@dataclass
class _Steps:
    """What is unusual from one text to the next one: the texts that are `signs` above (True) or below (False) the line
    of the text before or after them; those that are `stacked`, for they begin a line below the one before, though both
    are so short that pdfium may join them; whether one stands further `up`; `jumps` over a gap in a line."""

    signs: dict[int, bool] = field(default_factory=dict)
    stacked: list[int] = field(default_factory=list)
    up: bool = False
    jumps: int = 0


def _steps(layout: Layout) -> _Steps:
    found, lines, boxes = _Steps(), layout.lines, layout.boxes
    (least, most), signs = _SHIFTED, found.signs
    for place, ((x0, y0, h0), (x1, y1, h1)) in enumerate(pairwise(lines)):
        shift, height = y1 - y0, h0 if h0 > h1 else h1
        size = shift if shift > 0.0 else -shift
        if size <= _ALIKE * height:
            found.jumps += x1 - boxes[place][2] > _CELL * height
        elif not h0 or not h1:
            continue
        elif least * height < size < most * height and abs(x1 - boxes[place][2]) <= _NEAR * height:
            if h0 < _SMALLER * h1 or place in signs:
                signs.setdefault(place, shift < 0)
            else:
                signs[place + 1] = shift > 0
        elif shift > height and x1 > x0:
            found.up = True
        elif (
            abs(x1 - x0) < height
            and size > _LINE * height
            and x1 < boxes[place + 1][2] < x1 + _LETTER * h1  # no blank
            and x0 < boxes[place][2] < x0 + _STACKED * h0
        ):
            found.stacked.append(place + 1)
    return found


def _cells(layout: Layout) -> list[Cell]:
    """The texts that stand beside one another with hardly a gap, in the order in which they are painted."""
    found: list[Cell] = []
    for place, ((x, y, height), box) in enumerate(zip(layout.lines, layout.boxes, strict=True)):
        last = found[-1] if found else None
        if last and height and abs(y - last.y) < _ALIKE * height and -height < x - last.right < _CELL * height:
            last.end, last.right = place + 1, max(last.right, box[2])
        elif last and last.height and height < _SMALLER * last.height and abs(y - last.y) < _SHIFTED[1] * last.height:
            last.end, last.right = place + 1, max(last.right, box[2])  # a raised sign
        else:
            found.append(Cell(place, place + 1, x, box[2], y, height))
    return found


def _columns(layout: Layout) -> list[list[list[Cell]]]:
    """Blocks of columns of prose whose lines are painted by turns, each with its lines in the order to be read."""
    rows: list[list[Cell]] = []
    for cell in _cells(layout):
        last = rows[-1][-1] if rows else None
        if last and abs(cell.y - last.y) < _ALIKE * last.height and cell.left > last.right:
            rows[-1].append(cell)
        else:
            rows.append([cell])
    blocks: list[list[list[Cell]]] = []
    for row in rows:
        if blocks and _continue(blocks[-1][-1], row):
            blocks[-1].append(row)
        else:
            blocks.append([row])
    return [
        [[cell] for column in zip(*block, strict=True) for cell in column]
        for block in blocks
        if len(block) >= _ROWS and len(block[0]) > 1 and _are_prose(block)
    ]


def _continue(above: Sequence[Cell], below: Sequence[Cell]) -> bool:
    return len(above) == len(below) and all(
        abs(one.left - other.left) <= _EDGE and one.y > other.y for one, other in zip(above, below, strict=True)
    )


def _are_prose(block: Sequence[Sequence[Cell]]) -> bool:
    """Whether the columns of a block are filled with lines, as those of a table are not."""
    columns = list(zip(*block, strict=True))
    widths = [median(cell.right - cell.left for cell in column) for column in columns]
    rooms = [right[0].left - left[0].left for left, right in pairwise(columns)]
    return all(wide >= _COLUMN * column[0].height for wide, column in zip(widths, columns, strict=True)) and all(
        wide >= _FILLED * room for wide, room in zip(widths, rooms, strict=False)
    )


def _tables(layout: Layout) -> list[list[list[Cell]]]:
    """Blocks of columns of a table that are painted one after another, each with its rows."""
    runs: list[list[Cell]] = []
    for cell in _cells(layout):
        last = runs[-1][-1] if runs else None
        if last and last.height and last.y - cell.y > _LINE * last.height:
            runs[-1].append(cell)
        else:
            runs.append([cell])
    blocks: list[list[list[Cell]]] = []
    for run in runs:
        joined = _beside(blocks[-1], run) if blocks else None
        if joined:
            blocks[-1] = joined
        else:
            blocks.append([run])
    return [_rows(block) for block in blocks if len(block) > 1 and _is_table(block)]


def _beside(block: list[list[Cell]], run: list[Cell]) -> list[list[Cell]] | None:
    """A block with one more column, where that stands to the right of it and has the same rows; else None.

    What stands above the rows belongs not to the first column, what stands below them not to the last.
    """
    last = block[-1]
    if len(block) == 1:
        last = [cell for cell in last if cell.y <= run[0].y + _LINE * cell.height]
    run = [cell for cell in run if cell.y >= last[-1].y - _LINE * cell.height] if last else []
    if not last or not run or min(cell.left for cell in run) <= max(cell.left for cell in last):
        return None
    common = sum(any(abs(one.y - other.y) < _LINE * one.height / 2 for other in run) for one in last)
    if common < _TABLE or common < _SHARED * max(len(last), len(run)):
        return None
    return [*block[:-1], last, run]


def _is_table(block: Sequence[Sequence[Cell]]) -> bool:
    """Whether a column has narrow cells, as those of prose have not; and none reaches into the next one."""
    narrow = any(max(cell.right - cell.left for cell in column) <= _NARROW * column[0].height for column in block)
    apart = all(
        max(cell.right for cell in left) <= min(cell.left for cell in right)
        or all(cell.right <= other.left for cell in left for other in right if abs(cell.y - other.y) < cell.height / 2)
        for left, right in pairwise(block)
    )
    return narrow and apart


def _rows(block: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for cell in sorted((cell for column in block for cell in column), key=lambda cell: (-cell.y, cell.left)):
        if rows and abs(rows[-1][0].y - cell.y) < _LINE * cell.height / 2:
            rows[-1].append(cell)
        else:
            rows.append([cell])
    return [sorted(row, key=lambda cell: cell.left) for row in rows]


@dataclass
class _Edits:
    """What is put before and after places of a text, and which are left out."""

    before: dict[int, str] = field(default_factory=dict)
    after: dict[int, str] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)

    def wrap(self, start: int, end: int, mark: str) -> None:
        """Put the two halves of a mark around a stretch."""
        if start < end:
            self.before[start] = self.before.get(start, "") + mark[0]
            self.after[end - 1] = mark[-1] + self.after.get(end - 1, "")


class _Arrangement:
    """The text of a page whose characters are looked up, for something about it is to be put right."""

    def __init__(self, page: Page, layout: Layout, text: str) -> None:
        self._page = page
        self._layout = layout
        self._text = text
        self._of = page.stretches(layout.items)
        self._edits = _Edits()

    def pieces(
        self, steps: _Steps, rules: Sequence[Rectangle], blocks: Sequence[Sequence[Sequence[Cell]]]
    ) -> list[Piece]:
        """The text with all that was found."""
        divided = {place for one in self._fractions(steps) for place in self._divide(*one)}
        for place in sorted(steps.signs.keys() - divided):
            self._sign(place, raised("x") if steps.signs[place] else lowered("x"))
        for place in sorted(set(steps.stacked) - divided):
            self._break(place)
        boxes = [*((rule, True) for rule in rules), *((box, False) for box in self._layout.strikes)]
        for box, drawn in boxes:
            self._strike(box, drawn=drawn)
        pieces, done = list[Piece](), 0
        for start, end, block in sorted(self._placed(blocks), key=lambda one: one[:2]):
            if start < done:
                continue
            pieces += [*self._edited(done, start), *block]
            done = end
        return [*pieces, *self._edited(done, len(self._text))]

    def _fractions(self, steps: _Steps) -> list[tuple[int, int]]:
        """The places of small numbers above and below a line, or before and after a slash, beside larger letters."""
        places = {at - back for at in (*steps.signs, *steps.stacked) for back in (0, 1, 2)}
        ends = [(at, end) for at in sorted(places) for end in (at + 1, at + 2)]
        return [one for one in ends if one[0] >= 0 and one[1] < len(self._of) and self._is_fraction(*one)]

    def _is_fraction(self, first: int, last: int) -> bool:
        layout, (_, end), (under, _) = self._layout, self._of[first], self._of[last]
        texts = [self._text[slice(*self._of[place])] for place in range(first, last + 1)]
        together = self._text[end:under].strip() == "".join(texts[1:-1]) and end <= under
        return together and is_fraction(texts, first, layout.lines, layout.boxes, layout.rules)

    def _divide(self, first: int, last: int) -> Sequence[int]:
        """Write a fraction in one line, apart from what stands beside it; the texts that are no signs then."""
        edits, text, (start, _), (under, end) = self._edits, self._text, self._stretch(first), self._stretch(last)
        for place in range(max(first, 1), min(last + 2, len(self._layout.lines))):
            self._close(place)
        edits.gone.update(range(self._stretch(first)[1], under))
        edits.before[under] = "/"
        before = next((at for at in range(start - 1, -1, -1) if at not in edits.gone), -1)
        after = next((at for at in range(end, len(text)) if at not in edits.gone), -1)
        edits.before |= {at: " " for one, at in ((before, start), (after, after)) if one >= 0 and text[one].isalnum()}
        high = [height for _, _, height in self._layout.lines[last : last + 2]]
        return range(first, last + 1 + (high[-1] >= high[0]))

    def _sign(self, place: int, mark: str) -> None:
        """Mark a raised or lowered sign; the line goes on after it where pdfium ends it there."""
        start, end = self._stretch(place)
        if start == end:
            return
        self._edits.wrap(start, end, mark)
        for one in (place, place + 1):
            if 0 < one < len(self._layout.lines):
                self._close(one)

    def _close(self, place: int) -> None:
        """Take away the end of a line between a text and the one before, where both stand side by side."""
        (_, _, h0), (x1, _, h1) = self._layout.lines[place - 1], self._layout.lines[place]
        gap, height = x1 - self._layout.boxes[place - 1][2], max(h0, h1)
        before, after = self._stretch(place - 1), self._stretch(place)
        between = range(before[1], after[0])
        if before[0] == before[1] or after[0] == after[1] or not -height < gap < _CELL * height:
            return
        if (
            between
            and self._text[between.start : between.stop].isspace()
            and "\n" in self._text[between.start : between.stop]
        ):
            self._edits.gone.update(between)
            joins = self._text[before[1] - 1].isspace() or self._text[after[0]].isspace()
            if gap > _SPACE * height and not joins:
                self._edits.before[after[0]] = " " + self._edits.before.get(after[0], "")

    def _break(self, place: int) -> None:
        """End the line before a text, where it does not."""
        (_, end), (start, stop) = self._stretch(place - 1), self._stretch(place)
        if start < stop and 0 < end <= start and "\n" not in self._text[end - 1 : start]:
            self._edits.before[start] = "\n" + self._edits.before.get(start, "")

    def _strike(self, box: Rectangle, *, drawn: bool) -> None:
        """Mark the characters that a line goes through, or that lie within a box."""
        y, places = (box[1] + box[3]) / 2, list[int]()
        for (start, end), (_, foot, height), of in zip(self._of, self._layout.lines, self._layout.boxes, strict=True):
            through = crosses(box, foot, height) if drawn else of[1] <= y <= of[3]
            if through and of[0] < box[2] and of[2] > box[0]:
                places += [at for at in range(start, end) if self._is_under(at, box)]
        runs: list[list[int]] = []
        for at in sorted(places):
            if runs and not self._text[runs[-1][-1] + 1 : at].strip():
                runs[-1].append(at)
            else:
                runs.append([at])
        for run in runs:
            start, end = run[0], run[-1] + 1
            whole = not (self._text[start - 1 : start] + self._text[end : end + 1]).strip().isalnum()
            enough = sum(self._text[at].isalnum() for at in run) >= _WORD
            sides = self._page.box_at(run[0])[0], self._page.box_at(run[-1])[2]
            if not drawn or (whole and enough and is_for(box, *sides)):
                self._edits.wrap(start, end, struck("x"))

    def _is_under(self, at: int, box: Rectangle) -> bool:
        if self._text[at].isspace():
            return False
        left, _, right, _ = self._page.box_at(at)
        return box[0] <= (left + right) / 2 <= box[2]

    def _placed(self, blocks: Sequence[Sequence[Sequence[Cell]]]) -> Iterator[tuple[int, int, list[Piece]]]:
        """Each block with the stretch of the text that it stands for, where that is one."""
        for block in blocks:
            cells = [cell for row in block for cell in row]
            first, end = min(cell.first for cell in cells), max(cell.end for cell in cells)
            if sum(cell.end - cell.first for cell in cells) != end - first:
                continue
            start, stop = self._span(first, end)
            if len(block[0]) > 1 and not self._has_numbers(block):
                continue
            pieces: list[Piece] = []
            for row in block:
                for number, cell in enumerate(row):
                    pieces += [" | " if number else "\n", *self._edited(*self._span(cell.first, cell.end), bare=True)]
            yield start, stop, [*pieces, "\n"]

    def _has_numbers(self, rows: Sequence[Sequence[Cell]]) -> bool:
        """Whether most cells of a column of a table hold digits; else it may be a list in columns."""
        for column in zip(*(row for row in rows if len(row) == max(map(len, rows))), strict=True):
            texts = ["".join(self._text[at] for at in range(*self._span(one.first, one.end))) for one in column]
            if 2 * sum(any(map(str.isdecimal, text)) for text in texts) >= len(texts):
                return True
        return False

    def _span(self, first: int, end: int) -> tuple[int, int]:
        there = [self._of[place] for place in range(first, end) if self._of[place][0] < self._of[place][1]]
        return (min(one[0] for one in there), max(one[1] for one in there)) if there else (0, 0)

    def _stretch(self, place: int) -> tuple[int, int]:
        return self._of[place]

    def _edited(self, start: int, end: int, *, bare: bool = False) -> Iterator[Piece]:
        """A stretch of the text with its edits; a `bare` one is a line of its own, within which there is no other."""
        edits, done = self._edits, start
        changed = {one for one in (*edits.before, *edits.after, *edits.gone) if start <= one < end}
        if bare:
            changed |= {at for at in range(start, end) if self._text[at] in "\r\n"}
        for at in sorted(changed):
            if done < at:
                yield done, at
            before = edits.before.get(at, "")
            yield before.replace("\n", "") if bare else before
            if at not in edits.gone and not (bare and self._text[at] in "\r\n"):
                yield at, at + 1
            yield edits.after.get(at, "")
            done = at + 1
        if done < end:
            yield done, end
