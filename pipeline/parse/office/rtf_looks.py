"""The control words of RTF 1.9.1: those that stand for characters, or begin a group with text or without any; and how
text is drawn by those of characters, paragraphs, cells and shapes.

A text is seen if all words that reach it are computed here, or can neither move, cover, cut, colour nor shrink it
(_HARMLESS, and WITHIN by their value); any other word makes it doubtful.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pipeline.parse.sight.colours import WHITE, Colour
from pipeline.parse.sight.look import Appearance, squeezed
from pipeline.parse.sight.raised import lifted

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
_THIN = 100  # twips: what is narrower has no room for letters
_FAMILIES = re.compile(
    r"\w*rsid|brdr\w+|(tr|cl|ch|pg)brdr\w*|tr(padd|sp)\w+|cl(pad|sp)f?[ltrb]|(tr|cl)(fts|w)Width\w*|tbl\w+|pn\w*|"
    r"pgn\w*|sect\w*|a?ul\w*|tql?\w*|s?a?ftn\w*|a?endn?\w*|view\w+|line\w+|tp[hv]\w+|shpb[xy]\w+|ff\w+|m[A-Z]\w*"
)
_WORDS = (
    "a ab abinodiroverride abslock acaps acf adeflang adjustright af ai alang annotation ansi ansicpg ascaps aspalpha "
    "aspnum b bin box brsp caps cb cbpat cchs cell cellx cf cfpat cgrid charscalex chatn chcbpat chcfpat chdate chftn "
    "chpgn chtime clbghoriz clcbpat clcfpat cldgll cldglu clhidemark clmgf clNoWrap clshdrawnil cltxlrtb clvertalb "
    "clvertalc clvertalt clvmgf collapsed cols colsx column contextualspace cs cufi culi curi dbch deff deftab "
    "deleted dn do dobxcolumn dobxmargin dobxpage dobymargin dobypage dobypara dodhgt dptxbx dptxbxtext dptxlrtb "
    "dropcapli dropcapt ds dxfrtext expnd expndtw f faauto facenter facingp fafixed fahang faroman favar fcs fi field "
    "flddirty fldedit fldlock fldpriv formprot formshade fs gutter hich highlight hyphpar i ilvl intbl irow irowband "
    "itap keep keepn kerning lang langfe langfenp langnp lastrow lbr level lisa lisb listtext loch ls ltrch ltrmark "
    "ltrpar ltrrow ltrsect mac mvf mvt nestcell nestrow nobrkwrptbl noline nonshppict noproof nosnaplinegrid "
    "nosupersub nowidctlpar objalign objattph objautlink objcropb objcropl objcropr objcropt object objemb objh "
    "objhtml objlink objlock objocx objscalex objscaley objsetsize objsub objtransy objupdate objw outlinelevel "
    "overlay page pagebb par pard pardeftab pc pca phcol phmrg phpg plain pmartabqd posxc posxl posyil posyt prauth "
    "prdate protect pvmrg pvpara pvpg qc qd qj qk ql qnatural qr qt result revauth revdttm revised row rtf rtlch "
    "rtlmark rtlpar rtlrow rtlsect s sa saauto sb sbauto sbkcol sbkeven sbknone sbkodd sbkpage shp shpfhdr shpgrp "
    "shpinst shplid shplockanchor shprslt shptxt shpwrk shpz sl slmult softcol softline softpage spltpgpar stextflow "
    "strike striked sub subdocument super taprtl tdfrmtxtbottom tdfrmtxtleft tdfrmtxtright tdfrmtxttop titlepg tldot "
    "tleq tlhyph tlth tlul trauth trautofit trcbpat trcfpat trdate trgaph trhdr trkeep trkeepfollow trowd trqc trql "
    "trqr trrh ts tscellcfpat tscellpct tx u uc ud up upr v vertal vertalb vertalc vertalj vertalt webhidden "
    "widctlpar widowctrl wraparound wrapdefault yts"
)
_HARMLESS = frozenset(_WORDS.split()) | CHARACTERS.keys()
"""Words whose effect is computed, or that keep nobody from seeing a text; _FAMILIES has more of the latter."""
WITHIN = {
    **dict.fromkeys(("lin", "ri", "rin", "trleft"), (-1440, 7200)), "absw": (720, 20_000),
    **dict.fromkeys(("margl", "margr", "marglsxn", "margrsxn", "headery", "footery"), (0, 4320)), "tposx": (0, 7200),
    **dict.fromkeys(("margt", "margb", "margtsxn", "margbsxn"), (-4320, 4320)), "afs": (8, 1000), "tposy": (0, 12_000),
    **dict.fromkeys(("paperw", "paperh", "pgwsxn", "pghsxn"), (4000, 40_000)), "posx": (0, 7200), "posy": (0, 12_000),
    "absh": (240, 20_000), "shpleft": (-1440, 8640), "shptop": (-1440, 12_960), "shpright": (0, 20_000),
    "shpbottom": (0, 20_000), "shpwr": (1, 4), "shpfblwtxt": (0, 1), "dpx": (-1440, 8640), "dpy": (-1440, 12_960),
    "dpxsize": (500, 20_000), "dpysize": (300, 20_000), **dict.fromkeys(("outl", "shad", "embo", "impr"), (0, 0)),
}  # fmt: skip
"""Words that are harmless while their value is between two others."""
_DRAWN = re.compile(
    r"(shapeType|f(Flip[HV]|LayoutInCell|AllowOverlap|BehindDocument|LockA\w+|UseShapeAnchor|Line\w*|HitTestLine|\w+OK|"
    r"HorizRule|UserDrawn|Print|IsBullet|FitShapeToText|\w+Notify|Lock\w+|Gtext\w*|NoFillHitTest|FakeMaster|"
    r"PolicyBarcode|PseudoInline|RelFlip[HV]|AutoTextMargin)|wz\w+|lTxid|hspNext|hspMaster|pos(rel)?[hv]|anchorText|line\w+|"
    r"d[xy](WrapDist|Text)\w+|metroBlob|pWrap\w+|pib\w*|gtext(UNICODE|Font|Align)|fillBackColor|(geo|rel|group)[LRTB]\w+|"
    r"adjustValue|shadowColor|cxk|dhgt|borderTopColor|lidRegroup|WrapText|pictureId)=.*|\w+=0|pct\w+=\d{3,4}",
    re.DOTALL,
)
"""Properties of shapes that neither move, turn nor cover the text in them, or whose effect is computed."""


@lru_cache(4096)
def is_doubtful(word: str, value: int | None) -> bool:
    """Whether a word may keep somebody from seeing a text, in a way that is not computed."""
    if word in WITHIN:
        least, most = WITHIN[word]
        return not least <= (1 if value is None else value) <= most
    return word not in _HARMLESS and not _FAMILIES.fullmatch(word)


@dataclass(frozen=True)
class Letters:
    """The looks of a group's characters; colours are numbers in the table of colours, 0 for none."""

    colour: int = 0
    highlight: int = 0
    ground: int = 0
    size: float = 12.0
    stretch: float = 1.0
    spacing: float = 0.0
    lift: int = 0  # above 0 they are raised, below 0 lowered
    moved: int = 0  # half points up
    struck: bool = False
    struck_twice: bool = False

    def marked(self, text: str) -> str:
        """The text with the marks of letters that are raised, lowered or struck out; a sixth of their size counts."""
        if not (self.lift or self.moved or self.struck or self.struck_twice):
            return text
        lift = self.lift or (self.moved if abs(self.moved) * 3 >= self.size else 0)
        return lifted(text, lift, self.struck or self.struck_twice)

    def changed(self, word: str, value: int | None) -> "Letters":
        """These looks after a control word, which changes nothing if it is not about characters."""
        if word not in _OF_LETTERS:
            return Letters() if word == "plain" else self
        name, read = _OF_LETTERS[word]
        said = read(value)
        return self if getattr(self, name) == said else replace(self, **{name: said})


_OF_LETTERS: dict[str, tuple[str, Callable[[int | None], Any]]] = {
    "cf": ("colour", lambda value: value or 0),
    "highlight": ("highlight", lambda value: value or 0),
    "chcbpat": ("ground", lambda value: value or 0),  # \\cb is drawn by no program
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
}
"""The looks that control words change, and what their values mean for them."""


@dataclass(frozen=True)
class Ground:
    """The surroundings of a group's characters: its paragraph, the shape that it is in, and what makes it doubtful."""

    paragraph: int = 0
    line: int = 0  # twips; below 0 lines are exactly so high
    left: int = 0  # twips, the indent of the paragraph
    first: int = 0  # ... and of its first line beside that
    nested: bool = False  # in a table in a table
    in_shape: bool = False
    fill: Colour | None = WHITE  # of a shape
    of_rtf: bool = False  # of a page in HTML that was put into RTF: not shown where the page is
    dropped: bool = False  # a capital that reaches over several lines of the next paragraph
    doubt: str = ""

    def changed(self, word: str, value: int | None) -> "Ground":
        """These surroundings after a control word, which changes nothing if it is not about paragraphs or shapes."""
        if word == "pard":
            kept = Ground(in_shape=self.in_shape, fill=self.fill, of_rtf=self.of_rtf, doubt=self.doubt)
            return kept if self.is_shaped else self
        if word in _OF_GROUND:
            name, read = _OF_GROUND[word]
            said = read(value)
            return self if getattr(self, name) == said else replace(self, **{name: said})
        return self if self.doubt or not is_doubtful(word, value) else replace(self, doubt=f"\\{word}")

    @property
    def is_shaped(self) -> bool:
        """Whether a word about its paragraph holds."""
        return bool(self.paragraph or self.line or self.left or self.first or self.nested or self.dropped)

    def drawn(self, name: str, value: str) -> "Ground":
        """These surroundings after a property of the shape around them."""
        if name == "fillColor" and value.isascii() and value.isdecimal() and len(value) < 9:
            number = int(value)  # blue, green, red
            return replace(self, fill=(number & 255, number >> 8 & 255, number >> 16 & 255))
        if name == "fFilled":
            return replace(self, fill=self.fill if value != "0" else None)
        return self if _DRAWN.fullmatch(f"{name}={value}") else replace(self, doubt=f"\\sn {name}")


_OF_GROUND: dict[str, tuple[str, Callable[[int | None], Any]]] = {
    "dropcapli": ("dropped", lambda value: (value or 0) > 0),
    "cbpat": ("paragraph", lambda value: value or 0),
    "sl": ("line", lambda value: value or 0),
    "itap": ("nested", lambda value: (value or 0) > 1),
    "li": ("left", lambda value: value or 0),
    "fi": ("first", lambda value: value or 0),
    "htmlrtf": ("of_rtf", lambda value: value != 0),
}


_OF_PAPER = {"viewbksp", "background", "titlepg", "facingp", "cellx"}  # and words that begin with "cl" or "tr"


@dataclass
class Paper:
    """The state of the whole document: its table of colours, and the cells of the row begun."""

    colours: list[Colour | None] = field(default_factory=list)
    coloured: bool = False  # whether pages may have a background
    cells: list[tuple[int, str]] = field(default_factory=list)  # the ground of each, and what makes it doubtful
    row: int = 0  # the height of rows in twips; below 0 they are exactly so high
    shows: frozenset[str] = frozenset(
        {"header", "headerr", "footer", "footerr"}
    )  # the kinds of headers and footers that are drawn
    _cell: int = 0
    _doubt: str = ""
    _end: int = 0  # of the cell before
    _parts: list[int] = field(default_factory=list)

    def describe(self, word: str, value: int | None) -> None:
        """Take up a control word of the table of colours."""
        if word in {"red", "green", "blue"}:
            self._parts.append(min(255, max(0, value or 0)))

    def end_colours(self, count: int) -> None:
        """Take up colours that so many semicolons end: the first has components, or is that of the window."""
        for _ in range(count):
            self.colours.append((self._parts[0], self._parts[1], self._parts[2]) if len(self._parts) == 3 else None)
            self._parts = []

    def take(self, word: str, value: int | None) -> None:
        """Take up a control word of the page, rows and cells."""
        number = value or 0
        if word not in _OF_PAPER and not word.startswith(("cl", "tr")):
            return
        if word in {"viewbksp", "background"}:
            self.coloured = True
        elif word == "titlepg":
            self.shows |= {"headerf", "footerf"}
        elif word == "facingp":
            self.shows |= {"headerl", "footerl"}
        elif word == "trowd":
            self.cells, self._cell, self._doubt, self._end, self.row = [], 0, "", _UNKNOWN, 0
        elif word == "trrh":
            self.row = number
        elif word == "clcbpat":
            self._cell = number
        elif word.startswith(("clshdng", "clbg", "trshdng", "trcbpat", "trbg")):
            self._cell = _UNKNOWN
        elif word in {"clmrg", "clvmrg"}:
            self._doubt = f"\\{word}"
        elif word == "cellx":
            thin = self._end != _UNKNOWN and number - self._end < _THIN
            self.cells.append((self._cell, r"\cellx" if thin else self._doubt))
            self._cell, self._doubt, self._end = 0, "", number

    def look(self, letters: Letters, ground: Ground, cell: int | None) -> Appearance:
        """The look of characters; `cell` is their place in a row of a table."""
        heights = [-twips * TWIP for twips in (ground.line, self.row if cell is not None else 0) if twips < 0]
        of_cell, doubt = 0, ground.doubt
        if cell is not None:
            known = cell < len(self.cells) and not ground.nested
            of_cell, merged = self.cells[cell] if known else (_UNKNOWN if self.cells or ground.nested else 0, "")
            doubt = doubt or merged
        if number := next((one for one in (letters.highlight, letters.ground, ground.paragraph, of_cell) if one), 0):
            background = self._colour(number)
        else:
            background = ground.fill if ground.in_shape else None if self.coloured else WHITE
        colour = self._colour(letters.colour)
        if colour is not None and background is None:
            doubt = doubt or "the colour behind it"
        if is_doubtful("lin", ground.left) or is_doubtful("lin", ground.left + ground.first):
            doubt = doubt or r"\li"
        if ground.of_rtf:
            doubt = doubt or r"\htmlrtf"
        if abs(letters.moved) > max(12.0, 2 * letters.size):  # half points
            doubt = doubt or r"\up"
        return Appearance(
            colour=colour,
            background=background,
            size=letters.size,
            stretch=letters.stretch * squeezed(letters.spacing, letters.size),
            line=min(heights, default=None),
            doubt=doubt,
        )

    def _colour(self, number: int) -> Colour | None:
        return self.colours[number] if 0 < number < len(self.colours) else None
