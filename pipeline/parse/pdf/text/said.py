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
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain
from typing import Any

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


@dataclass(frozen=True)
class _Font:
    """A font: its `name`; whether it `says` of its characters what they are; in `wrong`, what it contradicts itself in.
    `twice`: it has several signs for one digit."""

    name: str
    says: bool
    wrong: tuple[str, ...] = ()
    twice: bool = False


class Said:
    """What the fonts of one document say, asked for when it is needed; `data` are the document's bytes."""

    def __init__(self, document: Any, data: bytes) -> None:
        self._document = document
        self._data = data

    @cached_property
    def _fonts(self) -> list[_Font] | None:
        """All fonts of the document; None where it is too large to be copied."""
        copy = _copy(self._document) if len(self._data) <= _MOST else None
        if copy is None:
            return None
        objects = _places(copy)
        known: dict[int, Any] = {}
        return [_font(copy, objects, known, font) for font in _dictionaries(copy, objects.values())]

    @cached_property
    def _may_map(self) -> bool:
        """Whether any font may have a map by which it is read otherwise than it is drawn."""
        return bool(_MAY_MAP.search(self._data))

    @cached_property
    def _saying(self) -> frozenset[str]:
        """The names of the fonts that say what their characters are."""
        fonts = self._fonts or []
        return frozenset(font.name for font in fonts) - {font.name for font in fonts if not font.says}

    def says(self, fonts: Iterable[int]) -> bool:
        """Whether each of a page's fonts says what its characters are."""
        return self._saying.issuperset(map(name_of, fonts))

    @cached_property
    def several(self) -> frozenset[str]:
        """The names that several fonts have."""
        names = Counter(font.name for font in self._fonts or ()) if self._may_map else Counter[str]()
        return frozenset(name for name, count in names.items() if count > 1)

    @cached_property
    def twice(self) -> frozenset[str]:
        """The names of fonts that have several signs for one digit."""
        return frozenset(font.name for font in self._fonts or () if font.twice) if self._may_map else frozenset()

    def wrong(self) -> list[str]:
        """What fonts read otherwise than they draw it, as far as they say so themselves: `"1" as "9"`."""
        if not self._may_map:
            return []
        return list(dict.fromkeys(chain.from_iterable(font.wrong for font in self._fonts or ())))


def name_of(font: int) -> str:
    """The name of a font, without the mark of a subset."""
    size = min(_get_name(argument(font), argument(ctypes.addressof(_name)), index(_LONGEST)), _LONGEST)
    return _SUBSET.sub("", _name.raw[: max(0, size - 1)].decode("latin-1"))


_get_name = fast(raw.FPDFFont_GetBaseFontName, ctypes.c_size_t)
_name = ctypes.create_string_buffer(_LONGEST)


def _copy(document: Any) -> bytes | None:
    _copied.clear()
    done = raw.FPDF_SaveAsCopy(document, _writer, raw.FPDF_REMOVE_SECURITY)
    copy = bytes(_copied) if done else None
    _copied.clear()
    return copy


def _write(_: Any, data: int, size: int) -> int:
    _copied.extend(ctypes.string_at(data, size))
    return int(len(_copied) <= 2 * _MOST)


_copied = bytearray()
_writer = raw.FPDF_FILEWRITE()  # made here: a child may make no code that C can call
_writer.version = 1
_writer.WriteBlock = type(_writer.WriteBlock)(_write)


def _places(copy: bytes) -> dict[int, int]:
    """Where each object begins in a copy, by its number, as the table at its end says."""
    begin = copy.rfind(b"\nxref") + 5
    found, number = dict[int, int](), 0
    for line in copy[begin : copy.find(b"trailer", begin)].split(b"\n"):
        match line.split():
            case [first, _]:
                number = int(first)
            case [place, _, kind]:
                if kind == b"n":
                    found[number] = int(place)
                number += 1
    return found


def _dictionaries(copy: bytes, places: Iterable[int]) -> Iterator[Dictionary]:
    """The fonts among the objects that begin at these places, and within them."""
    starts = sorted(places)
    found = (one.start() for one in _KEY.finditer(copy))
    for place in sorted({bisect(starts, at) - 1 for at in found} - {-1}):
        yield from _fonts_in(_object(copy, starts[place]))


def _object(copy: bytes, start: int) -> Any:
    """The object that begins at a place; of a stream its dictionary."""
    begin = copy.find(b"obj", start) + 3
    end = _END.search(copy, begin)
    return _value(_WIDTHS.sub(b"", copy[begin : end.start() if end else begin]))


def _fonts_in(value: Any) -> Iterator[Dictionary]:
    if isinstance(value, dict):
        kind = value.get(b"/Subtype", b"")
        if not _KEYS.isdisjoint(value) and not (isinstance(kind, bytes) and kind.startswith(b"/CIDFont")):
            yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        if not isinstance(one, bytes):
            yield from _fonts_in(one)


def _value(text: bytes) -> Any:
    """The first value that stands in a text: a dictionary, a list, or a token as it is."""
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token in {b"<<", b"["}:
            stack.append([])
        elif token in {b">>", b"]"} and len(stack) > 1:
            inner = stack.pop()
            pairs = zip(inner[::2], inner[1::2], strict=False)
            stack[-1].append(inner if token == b"]" else {key: one for key, one in pairs if isinstance(key, bytes)})
        else:
            stack[-1].append(token)
    return next(iter(stack[0]), None)


def _font(copy: bytes, objects: dict[int, int], known: dict[int, Any], font: Dictionary) -> _Font:
    def resolved(value: Any) -> Any:
        number = value.split()[0] if isinstance(value, bytes) and value.endswith(b" R") else b""
        start = objects.get(int(number)) if number else None
        if start is not None and start not in known:
            known[start] = _object(copy, start)
        return value if start is None else known[start]

    name = _SUBSET.sub("", _text(resolved(font.get(b"/BaseFont"))).removeprefix("/"))
    kind = resolved(font.get(b"/Subtype"))
    mapped = _map(_stream(copy, objects, font.get(b"/ToUnicode")))
    twice = max(Counter(one for one in mapped.values() if one in _ALL).values(), default=0) > 1
    encoding = resolved(font.get(b"/Encoding"))
    if kind == b"/Type0":
        below = resolved(font.get(b"/DescendantFonts"))
        system = resolved(resolved(below[0]).get(b"/CIDSystemInfo")) if isinstance(below, list) and below else None
        standard = isinstance(system, dict) and b"Identity" not in _bytes(system.get(b"/Ordering"))
        return _Font(name, bool(mapped) or standard, tuple(_wrong(mapped, {})), twice)
    descriptor = resolved(font.get(b"/FontDescriptor"))
    embedded = kind == b"/Type3" or (
        isinstance(descriptor, dict) and any(key.startswith(b"/FontFile") for key in descriptor)
    )
    symbols = bool(_SYMBOLS.search(name.encode("latin-1", "ignore")))
    names = _names(resolved, encoding)
    base = resolved(encoding.get(b"/BaseEncoding")) if isinstance(encoding, dict) else encoding
    plain = base in _CODES or (not embedded and not symbols)
    numbered = sum(bool(_NUMBERED.fullmatch(one)) for one in names.values())
    named = bool(names) and numbered <= _MOST_NUMBERED * len(names)
    says = bool(mapped) or (plain and not names) or named
    drawn = _drawn(base, names) if plain or named else {}
    return _Font(name, says, tuple(_wrong(mapped, drawn)), twice)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else ""


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else b""


def _names(resolved: Any, encoding: Any) -> dict[int, str]:
    """The names of glyphs by their codes, as the differences of an encoding have them."""
    differences = resolved(encoding.get(b"/Differences")) if isinstance(encoding, dict) else None
    found, code = dict[int, str](), 0
    for one in differences if isinstance(differences, list) else ():
        if not isinstance(one, bytes):
            continue
        if one.startswith(b"/"):
            found[code] = one[1:].decode("latin-1")
            code += 1
        elif one.isdigit():
            code = int(one)
    return found


def _drawn(base: Any, names: dict[int, str]) -> dict[int, str]:
    """The letters, digits and spaces by their codes, as a font draws them by its encoding."""
    drawn = _encoded(_CODES.get(base, "ascii") if isinstance(base, bytes) else "ascii")
    return drawn | {code: _named(name) for code, name in names.items()} if names else drawn


@cache
def _encoded(codec: str) -> dict[int, str]:
    return {code: bytes([code]).decode(codec, "ignore") for code in range(32, 256)}


def _named(name: str) -> str:
    """The letter or digit that a glyph's name means; "" for all other names."""
    name = name.partition(".")[0]
    if name in _DIGITS:
        return str(_DIGITS.index(name))
    return " " if name == "space" else name if len(name) == 1 and name.isalpha() else ""


def _stream(copy: bytes, objects: dict[int, int], reference: Any) -> bytes:
    """The content of a stream, unpacked; b"" where that is not possible."""
    number = _bytes(reference).split()[:1]
    start = objects.get(int(number[0])) if number and number[0].isdigit() else None
    found = re.compile(rb"stream\r?\n").search(copy, start) if start is not None else None
    if not found or start is None:
        return b""
    head = copy[start : found.start()]
    body = copy[found.end() : copy.find(b"endstream", found.end())]
    try:
        if b"ASCIIHexDecode" in head:
            body = bytes.fromhex(re.sub(rb"\s|>.*", b"", body, flags=re.DOTALL).decode("ascii"))
        if b"ASCII85Decode" in head:
            body = base64.a85decode(body.strip().removeprefix(b"<~").removesuffix(b"~>"))
        return zlib.decompressobj().decompress(body, _MOST) if b"FlateDecode" in head else body
    except (ValueError, zlib.error):
        return b""


def _map(content: bytes) -> dict[int, str]:
    """The texts that a ToUnicode map gives for the codes of a font."""
    found: dict[int, str] = {}
    for kind, section in _SECTION.findall(content):
        tokens = iter(re.findall(rb"<[0-9A-Fa-f\s]*>|\[|\]", section))
        for token in tokens:
            first, last = _code(token), _code(token) if kind == b"char" else _code(next(tokens, b""))
            to = next(tokens, b"")
            if to == b"[":
                for code in range(first, min(last, first + 0xFFFF) + 1):
                    if (one := next(tokens, b"]")) == b"]":
                        break
                    found[code] = _unicode(one)
            elif text := _unicode(to):
                for code in _asked(first, min(last, first + 0xFFFF), text, found):
                    found[code] = text[:-1] + chr(min(ord(text[-1]) + code - first, 0x10FFFF))
    return found


def _asked(first: int, last: int, text: str, known: Collection[int]) -> Iterable[int]:
    """The codes of a range that can say anything: of a long one to single characters those of one byte, those of
    digits, and those that another range gave a text."""
    if last - first < _LONG or len(text) > 1:
        return range(first, last + 1)
    digits = range(first + ord("0") - ord(text), first + ord("9") - ord(text) + 1)
    asked = {*range(first, 0x100), *digits, *known}
    return sorted(code for code in asked if first <= code <= last)


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
