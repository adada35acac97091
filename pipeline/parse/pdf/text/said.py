"""What the fonts of a PDF say of their characters, beside the map by which pdfium reads them.

pdfium tells none of it, but writes a copy of a document in which each object stands by itself, unlocked and with plain
names; the dictionaries of fonts are read from that (ISO 32000-2, 9.6 to 9.10).
"""

import base64
import ctypes
import re
import unicodedata
import zlib
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

from pipeline.parse.pdf.binding import raw
from pipeline.parse.pdf.objects import argument, fast, index

_MOST = 32 * 2**20  # bytes of a document, and of a map
_MAY_MAP = re.compile(rb"/ToUnicode|/ObjStm|/Encrypt|/[A-Za-z]{0,8}#[0-9A-Fa-f]{2}")
_END = re.compile(rb"\bstream\r?\n|\bendobj\b")
_TOKEN = re.compile(
    rb"<<|>>|[\[\]]|/[^\s<>\[\]()/%{}]*|\((?:\\.|[^\\()])*\)|<[0-9A-Fa-f\s]*>|\d+ \d+ R\b|[^\s<>\[\]()/]+"
)
_WIDTHS = re.compile(rb"/W(?:idths)?\s*\[(?:[^\[\]]++|\[[^\[\]]*+\])*+\]")  # numbers that say nothing of characters
_KEY = re.compile(rb"/(?:BaseFont|ToUnicode|CharProcs)\b")
_KEYS = frozenset({b"/BaseFont", b"/ToUnicode", b"/CharProcs"})
_SECTION = re.compile(rb"beginbf(char|range)(.*?)endbf", re.DOTALL)
_CODES = {b"/WinAnsiEncoding": "cp1252", b"/MacRomanEncoding": "mac_roman", b"/StandardEncoding": "ascii"}
_SUBSET = re.compile(r"^[A-Z]{6}\+")
_SYMBOLS = re.compile(rb"Symbol|Dingbats|Wingdings|Webdings", re.IGNORECASE)
_NUMBERED = re.compile(r"(?!uni[0-9A-F]{4})(?!u[0-9A-F]{4,6}$)\D{0,7}\d+")  # names such as g12 say nothing
_MOST_NUMBERED = 0.1
_ALL = frozenset("0123456789")
_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_LIGATURES = re.compile("f?f[bhijklt]?|t?t[fiy]?|[cs]t|sp|th|c[hk]|[dln][jz]|[ao]e|ij|s[sz]|qu")
_ONE = 6  # signs of a token that is one character: <0041>
_LONGEST = 256  # characters of a name
_LONG = 1000  # codes of a range
_KEPT = 10_000  # codes and texts whose meaning is kept
_BEYOND_LATIN = "\u0250"
_LATIN = re.compile("[0-9A-Za-z\u00aa-\u024f]")
_FRACTION = re.compile("\\d*[\u2044/\u2215]\\d*")

Dictionary = dict[bytes, Any]


class _Font(NamedTuple):
    """A font: its `name`; whether it `says` of its characters what they are; in `wrong`, what it contradicts itself in.
    `twice`: it has several signs for one digit."""

    name: str
    says: bool
    wrong: tuple[str, ...]
    twice: bool


class Said:
    """What the fonts of one document say, asked for when it is needed; `data` are the document's bytes."""

    def __init__(self, document: Any, data: bytes) -> None:
        self._document = document
        self._data = data

    @cached_property
    def _fonts(self) -> list[_Font]:
        """All fonts of the document; none where it is too large to be copied."""
        _copied.clear()
        may = len(self._data) <= _MOST
        done = may and raw.FPDF_SaveAsCopy(self._document, _writer, raw.FPDF_REMOVE_SECURITY)
        copy = _Copy(bytes(_copied)) if done else None
        _copied.clear()
        return [_font(copy, font) for font in copy.fonts()] if copy else []

    @cached_property
    def _mapped(self) -> list[_Font]:
        """The fonts, if any of them may have a map by which it is read otherwise than it is drawn."""
        return self._fonts if _MAY_MAP.search(self._data) else []

    @cached_property
    def _saying(self) -> frozenset[str]:
        names = frozenset(font.name for font in self._fonts)
        return names - {font.name for font in self._fonts if not font.says}

    def says(self, fonts: Iterable[int]) -> bool:
        """Whether each of a page's fonts says what its characters are."""
        return self._saying.issuperset(map(name_of, fonts))

    @cached_property
    def several(self) -> frozenset[str]:
        """The names that several fonts have."""
        names = Counter(font.name for font in self._mapped)
        return frozenset(name for name, count in names.items() if count > 1)

    @cached_property
    def twice(self) -> frozenset[str]:
        """The names of fonts that have several signs for one digit."""
        return frozenset(font.name for font in self._mapped if font.twice)

    def wrong(self) -> list[str]:
        """What fonts read otherwise than they draw it, as far as they say so themselves: `"1" as "9"`."""
        return list(dict.fromkeys(one for font in self._mapped for one in font.wrong))


def name_of(font: int) -> str:
    """The name of a font, without the mark of a subset."""
    size = min(_get_name(argument(font), argument(ctypes.addressof(_name)), index(_LONGEST)), _LONGEST)
    return _SUBSET.sub("", _name.raw[: max(0, size - 1)].decode("latin-1"))


_get_name = fast(raw.FPDFFont_GetBaseFontName, ctypes.c_size_t)
_name = ctypes.create_string_buffer(_LONGEST)


def _write(_: Any, data: int, size: int) -> int:
    _copied.extend(ctypes.string_at(data, size))
    return int(len(_copied) <= 2 * _MOST)


_copied = bytearray()
_writer = raw.FPDF_FILEWRITE()  # made here: a child may make no code that C can call
_writer.version = 1
_writer.WriteBlock = type(_writer.WriteBlock)(_write)


class _Copy:
    """A document as pdfium writes it, and where each object begins, by its number, as the table at its end says."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known: dict[int, Any] = {}
        self._places: dict[int, int] = {}
        begin, number = data.rfind(b"\nxref") + 5, 0
        for line in data[begin : data.find(b"trailer", begin)].split(b"\n"):
            match line.split():
                case [first, _]:
                    number = int(first)
                case [place, _, kind]:
                    if kind == b"n":
                        self._places[number] = int(place)
                    number += 1

    def fonts(self) -> Iterator[Dictionary]:
        """The dictionaries of its fonts."""
        starts = sorted(self._places.values())
        found = (one.start() for one in _KEY.finditer(self._data))
        for place in sorted({bisect(starts, at) - 1 for at in found} - {-1}):
            yield from _fonts_in(self._object(starts[place]))

    def get(self, holder: Any, key: bytes) -> Any:
        """The value of an entry of a dictionary; None where it is not there, or `holder` is no dictionary."""
        return self.resolved(holder.get(key)) if isinstance(holder, dict) else None

    def resolved(self, value: Any) -> Any:
        """A value, or the object that it refers to."""
        start = self._start(value) if isinstance(value, bytes) and value.endswith(b" R") else None
        if start is not None and start not in self._known:
            self._known[start] = self._object(start)
        return value if start is None else self._known[start]

    def stream(self, reference: Any) -> bytes:
        """The content of a stream, unpacked; b"" where that is not possible."""
        start = self._start(reference)
        found = re.compile(rb"stream\r?\n").search(self._data, start) if start is not None else None
        if not found:
            return b""
        head = self._data[start : found.start()]
        body = self._data[found.end() : self._data.find(b"endstream", found.end())]
        try:
            if b"ASCIIHexDecode" in head:
                body = bytes.fromhex(re.sub(rb"\s|>.*", b"", body, flags=re.DOTALL).decode("ascii"))
            if b"ASCII85Decode" in head:
                body = base64.a85decode(body.strip().removeprefix(b"<~").removesuffix(b"~>"))
            return zlib.decompressobj().decompress(body, _MOST) if b"FlateDecode" in head else body
        except (ValueError, zlib.error):
            return b""

    def _start(self, reference: Any) -> int | None:
        number = reference.split()[:1] if isinstance(reference, bytes) else []
        return self._places.get(int(number[0])) if number and number[0].isdigit() else None

    def _object(self, start: int) -> Any:
        """The first value of the object that begins at a place: a dictionary, a list, or a token as it is; of a stream
        its dictionary."""
        begin = self._data.find(b"obj", start) + 3
        end = _END.search(self._data, begin)
        stack: list[list[Any]] = [[]]
        for token in _TOKEN.findall(_WIDTHS.sub(b"", self._data[begin : end.start() if end else begin])):
            if token in {b"<<", b"["}:
                stack.append([])
            elif token in {b">>", b"]"} and len(stack) > 1:
                inner = stack.pop()
                pairs = zip(inner[::2], inner[1::2], strict=False)
                stack[-1].append(inner if token == b"]" else {key: one for key, one in pairs if isinstance(key, bytes)})
            else:
                stack[-1].append(token)
        return next(iter(stack[0]), None)


def _fonts_in(value: Any) -> Iterator[Dictionary]:
    if isinstance(value, dict):
        kind = value.get(b"/Subtype", b"")
        if not _KEYS.isdisjoint(value) and not (isinstance(kind, bytes) and kind.startswith(b"/CIDFont")):
            yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, bytes):
            yield from _fonts_in(one)


def _font(copy: _Copy, font: Dictionary) -> _Font:
    name = copy.get(font, b"/BaseFont")
    name = _SUBSET.sub("", name.decode("latin-1").removeprefix("/") if isinstance(name, bytes) else "")
    kind, encoding = copy.get(font, b"/Subtype"), copy.get(font, b"/Encoding")
    mapped = _map(copy.stream(font.get(b"/ToUnicode")))
    twice = max(Counter(one for one in mapped.values() if one in _ALL).values(), default=0) > 1
    if kind == b"/Type0":
        below = copy.get(font, b"/DescendantFonts")
        system = copy.get(copy.resolved(below[0]), b"/CIDSystemInfo") if isinstance(below, list) and below else None
        ordering = system.get(b"/Ordering") if isinstance(system, dict) else b"Identity"
        standard = not (isinstance(ordering, bytes) and b"Identity" in ordering)
        return _Font(name, bool(mapped) or standard, tuple(_wrong(mapped, {})), twice)
    names, code = dict[int, str](), 0  # of glyphs by their codes, as the differences of an encoding have them
    differences = copy.get(encoding, b"/Differences")
    for one in differences if isinstance(differences, list) else ():
        if isinstance(one, bytes) and one.startswith(b"/"):
            names[code] = one[1:].decode("latin-1")
            code += 1
        elif isinstance(one, bytes) and one.isdigit():
            code = int(one)
    numbered = sum(bool(_NUMBERED.fullmatch(one)) for one in names.values())
    named = bool(names) and numbered <= _MOST_NUMBERED * len(names)
    descriptor = copy.get(font, b"/FontDescriptor")
    files = [key for key in descriptor if key.startswith(b"/FontFile")] if isinstance(descriptor, dict) else []
    free = kind != b"/Type3" and not files and not _SYMBOLS.search(name.encode("latin-1", "ignore"))
    base = copy.get(encoding, b"/BaseEncoding") if isinstance(encoding, dict) else encoding
    base = base if isinstance(base, bytes) else b""
    plain = base in _CODES or free
    drawn: dict[int, str] = {}  # the letters, digits and spaces that the font draws by its encoding
    if plain or named:
        drawn = _encoded(_CODES.get(base, "ascii")) | {code: _named(one) for code, one in names.items()}
    says = bool(mapped) or (plain and not names) or named
    return _Font(name, says, tuple(_wrong(mapped, drawn)), twice)


@cache
def _encoded(codec: str) -> dict[int, str]:
    return {code: bytes([code]).decode(codec, "ignore") for code in range(32, 256)}


def _named(name: str) -> str:
    """The letter or digit that a glyph's name means; "" for all other names."""
    name = name.partition(".")[0]
    if name in _DIGITS:
        return str(_DIGITS.index(name))
    return " " if name == "space" else name if len(name) == 1 and name.isalpha() else ""


def _map(content: bytes) -> dict[int, str]:
    """The texts that a ToUnicode map gives for the codes of a font."""
    found: dict[int, str] = {}
    for kind, section in _SECTION.findall(content):
        tokens = iter(re.findall(rb"<[0-9A-Fa-f\s]*>|\[|\]", section))
        for token in tokens:
            first = _code(token)
            last = min(first if kind == b"char" else _code(next(tokens, b"")), first + 0xFFFF)
            to = next(tokens, b"")
            if to == b"[":
                for code in range(first, last + 1):
                    if (one := next(tokens, b"]")) == b"]":
                        break
                    found[code] = _unicode(one)
            elif text := _unicode(to):
                codes: Iterable[int] = range(first, last + 1)
                if last - first >= _LONG and len(text) == 1:
                    # of a long range to single characters only these can say anything: the codes of one byte, those of
                    # digits, and those that another range gave a text
                    digits = range(first + ord("0") - ord(text), first + ord("9") - ord(text) + 1)
                    codes = sorted(one for one in {*range(first, 0x100), *digits, *found} if first <= one <= last)
                for code in codes:
                    found[code] = text[:-1] + chr(min(ord(text[-1]) + code - first, 0x10FFFF))
    return found


@lru_cache(_KEPT)
def _code(token: bytes) -> int:
    return int(token[1:-1].translate(None, b" \t\r\n") or b"0", 16)


@lru_cache(_KEPT)
def _unicode(token: bytes) -> str:
    if len(token) == _ONE:
        return chr(int(token[1:-1], 16))
    digits = token[1:-1].translate(None, b" \t\r\n")
    return bytes.fromhex((digits + b"0" * (-len(digits) % 4)).decode("ascii")).decode("utf-16-be", "replace")


def _wrong(mapped: dict[int, str], drawn: dict[int, str]) -> Iterator[str]:
    """What is read otherwise than it is drawn: a letter or a digit as another one, a blank as letters, and a glyph that
    is no ligature as several."""
    for code, text in mapped.items():
        shown = drawn.get(code, "")
        as_drawn = text == shown or (not shown and (len(text) == 1 or not _LATIN.search(text)))  # as nearly all are
        if not as_drawn and (told := _contradiction(shown, text)):
            yield told


@lru_cache(_KEPT)
def _contradiction(shown: str, text: str) -> str:
    said, letters = folded(text), folded(shown)
    if shown.isascii() and (letters or shown == " ") and said != letters and (said or shown.isdigit()):
        return f'"{shown}" as "{text}"'
    return f'one sign as "{text}"' if len(said) > 1 and not letters and not is_ligature(said, text) else ""


def folded(text: str) -> str:
    """The letters and digits of a text, without what stands over and under them."""
    text = unicodedata.normalize("NFKD", text).casefold()
    return "".join(one for one in text if one.isalnum())


def is_ligature(said: str, text: str) -> bool:
    """Whether letters may be one sign: a ligature, a sign that stands for them, a fraction, those of other scripts."""
    return (
        bool(_LIGATURES.fullmatch(said))
        or len(text) == 1
        or bool(_FRACTION.fullmatch(text))
        or not any(one.isalnum() and one < _BEYOND_LATIN for one in text)
        or said in _signs()
    )


@cache
def _signs() -> frozenset[str]:
    """The letters of all characters that stand for several, such as the numero sign."""
    return frozenset(folded(chr(code)) for code in range(0xA0, 0xFFFF) if unicodedata.decomposition(chr(code)))
