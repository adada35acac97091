"""The order and the marks of a page's text where pdfium leaves them out.

pdfium gives characters as they are painted. So a footnote's sign becomes a digit of the amount before it, lines of two
columns that are painted by turns are read across, and a table that is painted column by column loses its rows. What is
painted as most pages are, is left as it is.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from pipeline.parse.pdf.geometry import Rectangle
from pipeline.parse.pdf.runs import runs
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
_STRIKE = (0.12, 0.5)  # of the height between the foot of letters and a line through them
_LEVEL = 3.5  # points that a line rises which is not slanted
_SLANTED, _ACROSS = (0.05, 0.75), 1.7  # of it: between their foot and the middle of a slanted line; its rise at most
_SLASHES = {"/", "\u2044", "\u2215"}

Piece = str | tuple[int, int]
Line = tuple[float, float, float]
"""Where a text begins, and its height."""


@dataclass
class Cell:
    """Texts of a page in a row, numbered from `first` to before `end`, on one line."""

    first: int
    end: int
    left: float
    right: float
    y: float
    height: float


Block = list[list[Cell]]
"""The cells of columns, row by row in the order to be read."""


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
    signs, stacked, up, jumps = _steps(layout)
    struck_out = _crossing(layout.lines, layout.rules) if layout.rules else []
    blocks = [*(_tables(layout) if up else ()), *(_columns(layout) if jumps >= _ROWS else ())]
    text = page.text()
    if not (signs or stacked or struck_out or blocks or layout.strikes):
        return [(0, len(text))]
    return _Arrangement(page, layout, text).pieces(signs, stacked, struck_out, blocks)


def _steps(layout: Layout) -> tuple[dict[int, bool], list[int], bool, int]:
    """Find what is unusual from one text to the next one.

    Return the texts that are signs above (True) or below (False) the line of the text before or after them; those that
    are stacked, for they begin a line below the one before, though both are so short that pdfium may join them; whether
    one stands further up; and how many jump over a gap in a line.
    """
    signs, stacked, up, jumps = dict[int, bool](), list[int](), False, 0
    boxes, (least, most) = layout.boxes, _SHIFTED
    for place, ((x0, y0, h0), (x1, y1, h1)) in enumerate(pairwise(layout.lines)):
        shift, height = y1 - y0, h0 if h0 > h1 else h1
        size = shift if shift > 0.0 else -shift
        if size <= _ALIKE * height:
            jumps += x1 - boxes[place][2] > _CELL * height
        elif not h0 or not h1:
            continue
        elif least * height < size < most * height and abs(x1 - boxes[place][2]) <= _NEAR * height:
            if h0 < _SMALLER * h1 or place in signs:
                signs.setdefault(place, shift < 0)
            else:
                signs[place + 1] = shift > 0
        elif shift > height and x1 > x0:
            up = True
        elif (
            abs(x1 - x0) < height
            and size > _LINE * height
            and x1 < boxes[place + 1][2] < x1 + _LETTER * h1  # no blank
            and x0 < boxes[place][2] < x0 + _STACKED * h0
        ):
            stacked.append(place + 1)
    return signs, stacked, up, jumps


def _crossing(lines: Sequence[Line], rules: Sequence[Rectangle]) -> list[Rectangle]:
    feet = sorted({(y, height) for _, y, height in lines if height})
    highest = max((height for _, height in feet), default=0.0)
    found = []
    for rule in rules:
        y = (rule[1] + rule[3]) / 2
        near = feet[bisect_left(feet, (y - highest,)) : bisect_right(feet, (y,))]
        if any(_crosses(rule, foot, height) for foot, height in near):
            found.append(rule)
    return found


def _crosses(rule: Rectangle, foot: float, height: float) -> bool:
    """Whether a line goes through the middle of letters, and is no long one that only comes by."""
    rise, y = rule[3] - rule[1], (rule[1] + rule[3]) / 2 - foot
    least, most = _STRIKE if rise <= _LEVEL else _SLANTED
    return least * height <= y <= most * height and rise <= _ACROSS * height


def _cells(layout: Layout) -> list[Cell]:
    """The texts that stand beside one another with hardly a gap, in the order in which they are painted."""
    found: list[Cell] = []
    for place, ((x, y, height), box) in enumerate(zip(layout.lines, layout.boxes, strict=True)):
        last = found[-1] if found else None
        if last and (
            (height and abs(y - last.y) < _ALIKE * height and -height < x - last.right < _CELL * height)
            or (height < _SMALLER * last.height and abs(y - last.y) < _SHIFTED[1] * last.height)  # a raised sign
        ):
            last.end, last.right = place + 1, max(last.right, box[2])
        else:
            found.append(Cell(place, place + 1, x, box[2], y, height))
    return found


def _columns(layout: Layout) -> list[Block]:
    """Columns of prose whose lines are painted by turns."""
    rows = runs(
        _cells(layout),
        lambda row, cell: abs(cell.y - row[-1].y) < _ALIKE * row[-1].height and cell.left > row[-1].right,
    )
    blocks = [one for one in runs(rows, _continue) if len(one) >= _ROWS and len(one[0]) > 1 and _are_prose(one)]
    return [[[cell] for column in zip(*block, strict=True) for cell in column] for block in blocks]


def _continue(block: Block, row: Sequence[Cell]) -> bool:
    return len(block[-1]) == len(row) and all(
        abs(one.left - other.left) <= _EDGE and one.y > other.y for one, other in zip(block[-1], row, strict=True)
    )


def _are_prose(block: Block) -> bool:
    """Whether the columns of a block are filled with lines, as those of a table are not."""
    columns = list(zip(*block, strict=True))
    widths = [median(cell.right - cell.left for cell in column) for column in columns]
    rooms = [right[0].left - left[0].left for left, right in pairwise(columns)]
    return all(wide >= _COLUMN * column[0].height for wide, column in zip(widths, columns, strict=True)) and all(
        wide >= _FILLED * room for wide, room in zip(widths, rooms, strict=False)
    )


def _tables(layout: Layout) -> list[Block]:
    """Tables whose columns are painted one after another."""
    columns = runs(
        _cells(layout),
        lambda column, cell: column[-1].height != 0 and column[-1].y - cell.y > _LINE * column[-1].height,
    )
    blocks: list[Block] = []
    for column in columns:
        if blocks and (joined := _beside(blocks[-1], column)):
            blocks[-1] = joined
        else:
            blocks.append([column])
    found = []
    for block in blocks:
        if len(block) > 1 and _is_table(block):
            cells = sorted((cell for column in block for cell in column), key=lambda cell: (-cell.y, cell.left))
            rows = runs(cells, lambda row, cell: abs(row[0].y - cell.y) < _LINE * cell.height / 2)
            found.append([sorted(row, key=lambda cell: cell.left) for row in rows])
    return found


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


class _Arrangement:
    """The text of a page whose characters are looked up, for something about it is to be put right: what is put before
    and after places of it, and which are left out."""

    def __init__(self, page: Page, layout: Layout, text: str) -> None:
        self._page = page
        self._layout = layout
        self._text = text
        self._of = page.stretches(layout.items)
        self._before: dict[int, str] = {}
        self._after: dict[int, str] = {}
        self._gone: set[int] = set()

    def pieces(
        self,
        signs: dict[int, bool],
        stacked: Sequence[int],
        rules: Sequence[Rectangle],
        blocks: Sequence[Block],
    ) -> list[Piece]:
        """The text with all that was found."""
        ends = [
            (at, end)
            for at in sorted({one - back for one in (*signs, *stacked) for back in (0, 1, 2)})
            for end in (at + 1, at + 2)
            if at >= 0 and end < len(self._of)
        ]
        fractions = [one for one in ends if self._is_fraction(*one)]
        divided = {place for one in fractions for place in self._divide(*one)}
        for place in sorted(signs.keys() - divided):
            start, end = self._of[place]
            if start != end:
                self._wrap(start, end, raised("x") if signs[place] else lowered("x"))
                self._close(range(max(place, 1), place + 2))
        for place in sorted(set(stacked) - divided):  # its line ends before it
            (_, end), (start, stop) = self._of[place - 1], self._of[place]
            if start < stop and 0 < end <= start and "\n" not in self._text[end - 1 : start]:
                self._before[start] = "\n" + self._before.get(start, "")
        for rule in rules:
            self._strike(rule, drawn=True)
        for box in self._layout.strikes:
            self._strike(box, drawn=False)
        pieces, done = list[Piece](), 0
        for start, end, block in sorted(self._placed(blocks), key=lambda one: one[:2]):
            if start >= done:
                pieces += [*self._edited(done, start), *block]
                done = end
        return [*pieces, *self._edited(done, len(self._text))]

    def _wrap(self, start: int, end: int, mark: str) -> None:
        if start < end:
            self._before[start] = self._before.get(start, "") + mark[0]
            self._after[end - 1] = mark[-1] + self._after.get(end - 1, "")

    def _is_fraction(self, first: int, last: int) -> bool:
        """Whether texts are a number above and one below a line, or small ones before and after a slash, beside letters
        whose line is between the two."""
        lines, boxes, (_, end), (under, _) = self._layout.lines, self._layout.boxes, self._of[first], self._of[last]
        above, *between, below = [self._text[slice(*self._of[place])] for place in range(first, last + 1)]
        if end > under or self._text[end:under].strip() != "".join(between):
            return False
        if not (above.strip().isdecimal() and below.strip().isdecimal()):
            return False
        (x0, y0, height), (x1, y1, other) = lines[first], lines[last]
        left, right = min(x0, x1), max(boxes[first][2], boxes[last][2])
        letters = [lines[first - 1]] if first and left - boxes[first - 1][2] < height else []
        letters += [one for one in lines[last + 1 : last + 2] if one[0] - right < height]
        letters += lines[first + 1 : last]
        if between:
            least = max(height, other) / _SMALLER
            on_line = any(high > least and y1 - _ALIKE * high <= y < y0 < y + high for _, y, high in letters)
            return on_line and between[0] in _SLASHES and x1 > x0
        return any(y1 < y < y0 < y + high and y - high < y1 for _, y, high in letters) and any(
            left <= (line[0] + line[2]) / 2 <= right
            and line[2] - line[0] < 2 * (right - left)
            and y1 < (line[1] + line[3]) / 2 <= y0 + _ALIKE * height
            and line[3] - line[1] < y0 + height - y1
            for line in self._layout.rules
        )

    def _divide(self, first: int, last: int) -> Sequence[int]:
        """Write a fraction in one line, apart from what stands beside it; the texts that are no signs then."""
        text, gone, (start, end), (under, stop) = self._text, self._gone, self._of[first], self._of[last]
        self._close(range(max(first, 1), last + 2))
        gone.update(range(end, under))
        self._before[under] = "/"
        before = next((at for at in range(start - 1, -1, -1) if at not in gone), -1)
        after = next((at for at in range(stop, len(text)) if at not in gone), -1)
        self._before |= {at: " " for one, at in ((before, start), (after, after)) if one >= 0 and text[one].isalnum()}
        high = [height for _, _, height in self._layout.lines[last : last + 2]]
        return range(first, last + 1 + (high[-1] >= high[0]))

    def _close(self, places: range) -> None:
        """Take away the end of a line between a text and the one before, where both stand side by side."""
        for place in places:
            if place >= len(self._layout.lines):
                return
            (_, _, h0), (x1, _, h1) = self._layout.lines[place - 1], self._layout.lines[place]
            (first, end), (start, stop) = self._of[place - 1], self._of[place]
            gap, height, between = x1 - self._layout.boxes[place - 1][2], max(h0, h1), self._text[end:start]
            if first == end or start == stop or not -height < gap < _CELL * height:
                continue
            if between.isspace() and "\n" in between:
                self._gone.update(range(end, start))
                joins = self._text[end - 1].isspace() or self._text[start].isspace()
                if gap > _SPACE * height and not joins:
                    self._before[start] = " " + self._before.get(start, "")

    def _strike(self, box: Rectangle, *, drawn: bool) -> None:
        """Mark the characters that a line goes through, or that lie within a box."""
        y, text, places = (box[1] + box[3]) / 2, self._text, list[int]()
        for (start, end), (_, foot, height), of in zip(self._of, self._layout.lines, self._layout.boxes, strict=True):
            through = _crosses(box, foot, height) if drawn else of[1] <= y <= of[3]
            for at in range(start, end) if through and of[0] < box[2] and of[2] > box[0] else ():
                if not text[at].isspace():
                    left, _, right, _ = self._page.box_at(at)
                    places += [at] if box[0] <= (left + right) / 2 <= box[2] else []
        for run in runs(sorted(places), lambda run, at: not text[run[-1] + 1 : at].strip()):
            start, end = run[0], run[-1] + 1
            whole = not (text[start - 1 : start] + text[end : end + 1]).strip().isalnum()
            enough = sum(text[at].isalnum() for at in run) >= _WORD
            wide = self._page.box_at(run[-1])[2] - self._page.box_at(start)[0]
            is_for = box[3] - box[1] <= _LEVEL or 2 * wide >= box[2] - box[0]  # slanted ones of charts reach further
            if not drawn or (whole and enough and is_for):
                self._wrap(start, end, struck("x"))

    def _placed(self, blocks: Sequence[Block]) -> Iterator[tuple[int, int, list[Piece]]]:
        """Each block with the stretch of the text that it stands for, where that is one."""
        for block in blocks:
            cells = [cell for row in block for cell in row]
            first, end = min(cell.first for cell in cells), max(cell.end for cell in cells)
            if sum(cell.end - cell.first for cell in cells) != end - first:
                continue
            if len(block[0]) > 1 and not self._has_numbers(block):
                continue
            pieces: list[Piece] = []
            for row in block:
                for number, cell in enumerate(row):
                    pieces += [" | " if number else "\n", *self._edited(*self._span(cell.first, cell.end), bare=True)]
            yield *self._span(first, end), [*pieces, "\n"]

    def _has_numbers(self, rows: Block) -> bool:
        """Whether most cells of a column of a table hold digits; else it may be a list in columns."""
        for column in zip(*(row for row in rows if len(row) == max(map(len, rows))), strict=True):
            texts = [self._text[slice(*self._span(one.first, one.end))] for one in column]
            if 2 * sum(any(map(str.isdecimal, text)) for text in texts) >= len(texts):
                return True
        return False

    def _span(self, first: int, end: int) -> tuple[int, int]:
        there = [(start, stop) for start, stop in self._of[first:end] if start < stop]
        return (min(one[0] for one in there), max(one[1] for one in there)) if there else (0, 0)

    def _edited(self, start: int, end: int, *, bare: bool = False) -> Iterator[Piece]:
        """A stretch of the text with its edits; a `bare` one is a line of its own, within which there is no other."""
        done, breaks = start, {at for at in range(start, end) if bare and self._text[at] in "\r\n"}
        changed = {one for one in (*self._before, *self._after, *self._gone) if start <= one < end} | breaks
        for at in sorted(changed):
            if done < at:
                yield done, at
            before = self._before.get(at, "")
            yield before.replace("\n", "") if bare else before
            if at not in self._gone and at not in breaks:
                yield at, at + 1
            yield self._after.get(at, "")
            done = at + 1
        if done < end:
            yield done, end
