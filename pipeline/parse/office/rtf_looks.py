"""The control words of RTF 1.9.1: those that stand for characters, or begin a group with text or without any; and how
text is drawn by those of characters, paragraphs, cells and shapes.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pipeline.parse.sight.colours import WHITE, Colour
from pipeline.parse.sight.look import Appearance, squeezed
from pipeline.parse.sight.raised import lowered, raised, struck

CHARACTERS = {
    "tab": "\t", "line": "\n", "lbr": "\n", "emdash": "\u2014", "endash": "\u2013", "emspace": " ", "enspace": " ",
    "qmspace": " ", "bullet": "\u2022", "lquote": "\u2018", "rquote": "\u2019", "ldblquote": "\u201c",
    "rdblquote": "\u201d", "nestcell": " ", "nestrow": "\n",
}  # fmt: skip
SYMBOLS = {b"~": "\xa0", b"_": "-", b"-": "", b"\n": "\n", b"\r": "\n", b"\t": "\t"}
# Destinations without text of the document.
SILENT = {
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "objdata", "fldinst", "filetbl", "listtable",
    "listoverridetable", "revtbl", "rsidtbl", "themedata", "colorschememapping", "datastore", "latentstyles",
    "generator", "xmlnstbl", "bkmkstart", "bkmkend", "sp", "sn", "sv", "nonesttables", "nonshppict", "upr",
    "pgdsctbl", "atnid", "atnauthor", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc", "aftncn", "tc", "tcn",
    "xe", "rxe", "txe", "do", "template", "formfield", "falt", "panose", "mmathPr", "private", "pntxta", "pntxtb",
    "objclass", "objname",
}  # fmt: skip
# ... and those that stand behind \* alone; one that is in neither is left out as well, but counted.
KNOWN = {
    "annotation", "atndate", "atnicn", "atnparent", "atnref", "atntime", "atrfend", "atrfstart", "background",
    "blipuid", "blockmedia", "bookmarkpub", "buptim", "category", "company", "cs", "datafield", "defchp", "defpap",
    "docvar", "ds", "ebcend", "ebcstart", "factoidname", "fchars", "ffdeftext", "ffentrymcr", "ffexitmcr", "ffformat",
    "ffhelptext", "ffl", "ffname", "ffstattext", "fldtype", "fname", "fontemb", "fontfile", "footeryt", "gridtbl",
    "headeryb", "hl", "hlinkbase", "hlfr", "hlloc", "hlsrc", "hsv", "htmltag", "hyphen", "keycode", "lchars",
    "linkval", "listlevel", "listname", "listpicture", "liststylename", "listtag", "lsdlockedexcept", "mailmerge",
    "manager", "mhtmltag", "mmathPict", "nesttableprops", "nextfile", "objalias", "objsect", "objtime", "oldcprops",
    "oldpprops", "oldsprops", "oldtprops", "oleclsid", "password", "passwordhash", "pgdscno", "pgp", "pgptbl",
    "picprop", "pn", "pnseclvl", "printim", "propname", "protend", "protstart", "protusertbl", "pxe", "rdf", "shppict",
    "staticval", "svb", "tblgrid", "ts", "userprops", "wgrffmtfilter", "windowcaption", "writereservation",
    "writereservhash", "xform", "xmlattrname", "xmlattrvalue", "xmlclose", "xmlname", "xmlopen", "wptab", "zwbo",
}  # fmt: skip
SPOKEN = {"shptxt", "ud", "shpinst", "dptxbxtext", "listtext", "pntext", "fldrslt", "result"}
ASIDE = {
    "header": "header", "headerl": "header", "headerr": "header", "headerf": "header",
    "footer": "footer", "footerl": "footer", "footerr": "footer", "footerf": "footer",
    "footnote": "footnote", "annotation": "annotation",
}  # fmt: skip


TWIP = 1 / 20
"""Points."""
_UNKNOWN = -1  # instead of a number of a colour
_SHADED = ("shdng", "bghoriz", "bgvert", "bgcross", "bgdcross", "bgfdiag", "bgbdiag")
_SIDES = ("shpleft", "shptop", "shpright", "shpbottom")


@dataclass(frozen=True)
class Letters:
    """The looks of a group's characters; colours are numbers in the table of colours, 0 for none."""

    colour: int = 0
    highlight: int = 0
    ground: int = 0
    size: float = 12.0
    stretch: float = 1.0
    spacing: float = 0.0
    outlined: bool = False
    lift: int = 0  # above 0 they are raised, below 0 lowered
    moved: int = 0  # half points up
    struck: bool = False
    struck_twice: bool = False

    def marked(self, text: str) -> str:
        """The text with the marks of letters that are raised, lowered or struck out; a sixth of their size counts."""
        if not (self.lift or self.moved or self.struck or self.struck_twice):
            return text
        lift = self.lift or (self.moved if abs(self.moved) * 3 >= self.size else 0)
        text = raised(text) if lift > 0 else lowered(text) if lift < 0 else text
        return struck(text) if self.struck or self.struck_twice else text

    def changed(self, word: str, value: int | None) -> "Letters":
        """These looks after a control word, which changes nothing if it is not about characters."""
        if word not in _OF_LETTERS:
            return Letters() if word == "plain" else self
        name, read = _OF_LETTERS[word]
        return replace(self, **{name: read(value)})


_OF_LETTERS: dict[str, tuple[str, Callable[[int | None], Any]]] = {
    "cf": ("colour", lambda value: value or 0),
    "highlight": ("highlight", lambda value: value or 0),
    "chcbpat": ("ground", lambda value: value or 0),  # \\cb is drawn by no program
    **{f"ch{one}": ("ground", lambda value: _UNKNOWN) for one in _SHADED},
    "fs": ("size", lambda value: 12.0 if value is None else value / 2),
    "charscalex": ("stretch", lambda value: 1.0 if value is None else value / 100),
    "expnd": ("spacing", lambda value: (value or 0) / 4),
    "expndtw": ("spacing", lambda value: (value or 0) * TWIP),
    "super": ("lift", lambda value: int(value != 0)),
    "sub": ("lift", lambda value: -int(value != 0)),
    "nosupersub": ("lift", lambda value: 0),
    "up": ("moved", lambda value: 6 if value is None else value),
    "dn": ("moved", lambda value: -(6 if value is None else value)),
    "strike": ("struck", lambda value: value != 0),
    "striked": ("struck_twice", lambda value: value != 0),
    **{word: ("outlined", lambda value: value != 0) for word in ("outl", "shad", "embo", "impr")},
}
"""The looks that control words change, and what their values mean for them."""


@dataclass(frozen=True)
class Ground:
    """The surroundings of a group's characters: its paragraph, and the shape that it is in."""

    paragraph: int = 0
    line: int = 0  # twips; below 0 lines are exactly so high
    nested: bool = False  # in a table in a table
    in_shape: bool = False
    dropped: bool = False  # a capital that reaches over several lines of the next paragraph
    box: tuple[int, int, int, int] = (0, 0, 0, 0)  # left, top, right, bottom of a shape in twips

    def changed(self, word: str, value: int | None) -> "Ground":
        """These surroundings after a control word, which changes nothing if it is not about paragraphs or shapes."""
        number = value or 0
        if word == "pard":
            return replace(self, paragraph=0, line=0, nested=False, dropped=False)
        if word == "dropcapli":
            return replace(self, dropped=number > 0)
        if word == "cbpat":
            return replace(self, paragraph=number)
        if word == "shading" or word.startswith("bg"):
            return replace(self, paragraph=_UNKNOWN)
        if word == "sl":
            return replace(self, line=number)
        if word == "itap":
            return replace(self, nested=number > 1)
        if word in _SIDES:
            sides = list(self.box)
            sides[_SIDES.index(word)] = number
            return replace(self, box=(sides[0], sides[1], sides[2], sides[3]))
        return self


@dataclass
class Paper:
    """The state of the whole document: its table of colours, and the cells of the row begun."""

    colours: list[Colour | None] = field(default_factory=list)
    coloured: bool = False  # whether pages may have a background
    cells: list[int] = field(default_factory=list)
    row: int = 0  # the height of rows in twips; below 0 they are exactly so high
    _cell: int = 0
    _parts: list[int] = field(default_factory=list)

    def describe(self, word: str, value: int | None) -> None:
        """Take up a control word of the table of colours."""
        if word in {"red", "green", "blue"}:
            self._parts.append(min(255, max(0, value or 0)))

    def end_colours(self, count: int) -> None:
        """Take up colours that so many semicolons end: the first has components, or is that of the window."""
        for _ in range(count):
            parts = self._parts
            self.colours.append((parts[0], parts[1], parts[2]) if len(parts) == 3 else None)
            self._parts = []

    def take(self, word: str, value: int | None) -> None:
        """Take up a control word of the page, rows and cells."""
        number = value or 0
        if word in {"viewbksp", "background"}:
            self.coloured = True
        elif word == "trowd":
            self.cells, self._cell, self.row = [], 0, 0
        elif word == "trrh":
            self.row = number
        elif word == "clcbpat":
            self._cell = number
        elif word.startswith(("clshdng", "clbg", "trshdng", "trcbpat", "trbg")):
            self._cell = _UNKNOWN
        elif word == "cellx":
            self.cells.append(self._cell)
            self._cell = 0

    def hides(self, letters: Letters, ground: Ground, cell: int | None) -> str | None:
        """The kind of hidden text (of hidden.KINDS) that characters are; `cell` is their place in a row of a table."""
        heights = [-twips * TWIP for twips in (ground.line, self.row if cell is not None else 0) if twips < 0]
        return Appearance(
            colour=None if letters.outlined else self._colour(letters.colour),
            background=self._behind(letters, ground, cell),
            size=letters.size,
            stretch=letters.stretch * squeezed(letters.spacing, letters.size),
            line=min(heights, default=None),
            box=self._box(ground),
        ).hides

    def _behind(self, letters: Letters, ground: Ground, cell: int | None) -> Colour | None:
        of_cell = 0
        if cell is not None:
            of_cell = self.cells[cell] if cell < len(self.cells) and not ground.nested else _UNKNOWN
        numbers = (letters.highlight, letters.ground, ground.paragraph, of_cell)
        number = next((one for one in numbers if one), 0)
        if number:
            return self._colour(number)
        return None if self.coloured or ground.in_shape else WHITE

    def _colour(self, number: int) -> Colour | None:
        return self.colours[number] if 0 < number < len(self.colours) else None

    def _box(self, ground: Ground) -> tuple[float, float, float, float] | None:
        """The box of a shape; one beyond the page is moved onto it by some programs, so its place says nothing."""
        left, top, right, bottom = (side * TWIP for side in ground.box)
        return (left, top, right - left, bottom - top) if ground.in_shape and ground.box != (0, 0, 0, 0) else None
