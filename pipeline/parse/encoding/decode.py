"""Bytes of text to text: what they say themselves, then what they can only be, then a guess with a confidence.

One bad place spoils no file: characters of vendors in Japanese text (NEC row 13 and IBM's, as cp932 has them), emoji as
two surrogates (CESU-8, Unicode Technical Report 26), a text that breaks off, lines in another encoding.
"""

import codecs
import re
from dataclasses import dataclass, replace

from charset_normalizer import from_bytes

from pipeline.errors import DocumentError, Failure
from pipeline.parse.encoding.asian import often_written
from pipeline.parse.encoding.ebcdic import is_ebcdic, page_of
from pipeline.parse.encoding.plausible import readings

_BOMS = (  # the longer first: that of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ISO_2022 = (
    (re.compile(rb"\x1b\$\)C"), "iso2022_kr"),
    (re.compile(rb"\x1b(\$[@B]|\([JI]|\$\(D)"), "iso2022_jp_ext"),
    (re.compile(rb"\x1b\$\([OPQ]"), "iso2022_jp_2004"),
)
_BINARY_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]+")
_FILLING = "\0\x1a\x1c\r\n"  # at the ends of a text, with what ends a file or a message
_CONTROLS_BUT_ZERO = re.compile(rb"[\x01-\x08\x0e-\x1a\x1c-\x1f]")
_WHITE = re.compile(rb"[ \t\r\n]")
_HOLE = bytes(64)
_WHITE_AREA = b"\xff" * 64  # of a picture without compression
_EUC = re.compile(rb"(?:[\x00-\x7f]|[\xa1-\xfe]{2}|\x8e[\xa1-\xb0][\xa1-\xfe]{2})++")  # CNS 11643 in four bytes
_IN_MARKUP = re.compile(rb"""<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_HEAD = 4096  # bytes in which markup must say its encoding
# What is meant by names that Python does not know, or takes more narrowly than writers do (WHATWG Encoding Standard).
_MEANT = {
    "x-sjis": "cp932", "shift_jis": "cp932", "x-euc-jp": "euc_jp", "x-gbk": "gb18030", "gbk": "gb18030",
    "gb2312": "gb18030",
    "euc_kr": "cp949", "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "tis-620": "cp874", "windows-874": "cp874", "iso-8859-8-i": "iso8859-8", "x-mac-cyrillic": "mac_cyrillic",
    "x-mac-roman": "mac_roman", "macintosh": "mac_roman",
}  # fmt: skip
_NOT_OF_DOCUMENTS = {"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"}
_SAMPLE = 1 << 16
_TIE = 0.005
_BITS_TO_DOUBT = 2.0  # by as many more bits a reading is half as likely
_SURE = 0.75  # below it, a reader is told
_CAP = 0.95  # of a guess
_JAPANESE = ("euc_jp", "cp932")
_KANA = re.compile("[\u3041-\u30fe]")  # that no other text gives by chance
_HALF_WIDTH = re.compile("[\uff61-\uff9f]")  # that any text gives by chance, and that nobody writes
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
_RARE = 20  # as many good characters beyond ASCII for each bad one, and an encoding is believed all the same
_RARE_IN_UTF_8 = 2  # which nothing else looks like
_SURROGATES = re.compile(rb"\xed([\xa0-\xaf])([\x80-\xbf])\xed([\xb0-\xbf])([\x80-\xbf])")
_LONE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]|\xc0\x80")
_CUT = re.compile(rb"(?:[\xe0-\xef][\x80-\xbf]|[\xf0-\xf4][\x80-\xbf]{1,2})\Z")
_LINES = re.compile(rb"[^\n]*\n|[^\n]+")
_OF_VENDORS = "cloister.vendors"
_WIDE = ["utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le"]  # known by mark and by zero bytes


@dataclass(frozen=True)
class Decoded:
    """A text, the encoding that gave it and how sure that is, from 0 to 1; `replaced` bytes were no text in it.
    `rival` is the next best encoding, where it is about as good and reads differently.
    """

    text: str
    encoding: str
    confidence: float
    replaced: int = 0
    rival: str | None = None
    more: tuple[str, ...] = ()

    @property
    def notes(self) -> list[str]:
        """Notes for the row: a rival encoding, how many places were not valid, and how many hold control characters."""
        notes = list(self.more)
        if self.rival:
            guess = f"read as {self.encoding} (confidence {self.confidence:.2f}), {self.rival} is possible too"
            notes.append(f"the encoding is a guess: {guess}")
        if self.replaced:
            notes.append(f"{self.replaced} places are not valid {self.encoding} and read as U+FFFD")
        if controls := len(_CONTROLS.findall(self.text.strip(_FILLING))):
            notes.append(f"places with control characters, which are no text: {controls:,}")
        return notes


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """The text of bytes, `declared` being what the document says of its encoding; raises DocumentError: UNSUPPORTED for
    an encoding of two bytes a character that is none of those known, CORRUPT for what is no text.

    The same bytes give the same answer on every machine. UTF-8 that holds is believed before any declaration: other
    text is practically never valid UTF-8.
    """
    wide = _wide(data)
    found = _by_mark(data) or _by_escapes(data) or _strict(data, wide or "utf-8", 0.9 if wide else 1.0)
    found = found or (_nearly(data, wide, 0.7, 0) if wide else None)
    if found or (is_ebcdic(data) and (found := _strict(data, page_of(data), 0.8))):
        return found
    name = _known(declared)
    found = (_strict(data, name, 0.8) if name else None) or _nearly_utf_8(data) or _guessed(data)
    found = found or (_nearly(data, name, 0.3) if name else None)
    if found is None and _EUC.fullmatch(data):
        raise DocumentError(Failure.UNSUPPORTED, "text in an encoding that is not known here, such as EUC-TW")
    if found is None:
        raise DocumentError(Failure.CORRUPT, "its bytes are no text in any encoding that is known here")
    return found


def is_known(declared: str) -> bool:
    """Whether an encoding of this name can be read."""
    return _known(declared) is not None


def declared_in_markup(data: bytes) -> str | None:
    """The encoding that HTML or XML names for itself."""
    declared = _IN_MARKUP.search(data[:_HEAD])
    return declared[1].decode("ascii", "replace") if declared else None


def looks_like_text(data: bytes) -> bool:
    """Whether bytes can be text at all: a mark, a pattern of zero bytes, or next to no control characters.

    A text may stand between zero bytes, with which a disk, or a copy that broke off, has filled it up.
    """
    sample = data[:_SAMPLE]
    if _WHITE_AREA in sample:
        return False
    if data.startswith(tuple(mark for mark, _ in _BOMS)) or _wide(data) or _by_escapes(data) or is_ebcdic(data):
        return True
    few = len(sample) // (10 if _HOLE not in sample and _is_utf_8(sample) else 200)
    if len(_BINARY_CONTROLS.findall(sample)) <= max(2, few):
        return True
    inside = data.strip(b"\x00")[:_SAMPLE]
    return _BINARY_CONTROLS.search(inside) is None and _WHITE.search(inside) is not None


def _is_utf_8(sample: bytes) -> bool:
    """Whether bytes are UTF-8, as those of programs and pictures are not, but for a character that is cut off."""
    try:
        sample.decode()
    except UnicodeDecodeError as error:
        return error.start > len(sample) - 4
    return True


def has_holes(data: bytes) -> bool:
    """Whether bytes would be text but for runs of zero bytes."""
    return _HOLE in data and _CONTROLS_BUT_ZERO.search(data) is None


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _strict(data, encoding, 1.0) or _replaced(data, encoding, 0.5)
    return None


def _by_escapes(data: bytes) -> Decoded | None:
    if b"\x1b" in data and data.isascii():
        for pattern, encoding in _ISO_2022:
            if pattern.search(data) and (found := _strict(data, encoding, 0.95) or _nearly(data, encoding, 0.7, 2)):
                return found
    return None


def _vendors(error: UnicodeError) -> tuple[str, int]:
    """What Japanese vendors put where JIS X 0208 has nothing, as cp932 reads it; raises `error` for all else."""
    if not isinstance(error, UnicodeDecodeError) or error.start + 2 > len(error.object):
        raise error
    row, cell = (byte & 0x7F for byte in error.object[error.start : error.start + 2])
    lead = ((row + 1) >> 1) + (0x70 if row < 0x5F else 0xB0)
    trail = cell + (0x7E if row % 2 == 0 else 0x1F if cell < 0x60 else 0x20)
    try:
        return bytes((lead, trail)).decode("cp932"), error.start + 2
    except (UnicodeError, ValueError):
        raise error from None


codecs.register_error(_OF_VENDORS, _vendors)


def _nearly_utf_8(data: bytes) -> Decoded | None:
    """UTF-8 in which some places are bad; None where these are more than a few.

    Two surrogates become the character that they stand for. A line without any good character beyond ASCII is read by
    itself where it is plausible in an encoding of Europe; other bad places become U+FFFD.
    """
    data, pairs = _SURROGATES.subn(_joined, data)
    lines = _LINES.findall(_LONE.sub(b"\xff", data))
    texts = [line.decode("utf-8", "replace") for line in lines]
    good = sum(map(_good, texts)) + bool(_CUT.search(data))
    alone = [place for place, text in enumerate(texts) if "\ufffd" in text and not _good(text)]
    notes = [f"{pairs} characters were written as two surrogates each (CESU-8)"] if pairs else []
    if 0 < _RARE_IN_UTF_8 * len(alone) <= good:
        other = readings(b"".join(lines[place] for place in alone))[0]
        read = [_strict(lines[place], other.encoding, 0.7) for place in alone] if other.plausible else []
        for place, one in zip(alone, read, strict=False):
            texts[place] = one.text if one else texts[place]
        if any(read):
            notes.append(f"{sum(map(bool, read))} lines are no UTF-8 and were read as {other.encoding}")
    text = "".join(texts)
    bad = text.count("\ufffd")
    if not good or good < _RARE_IN_UTF_8 * (bad - text.endswith("\ufffd")):
        return None
    return Decoded(text, "utf-8", 0.7, bad, more=tuple(notes))


def _joined(pair: re.Match[bytes]) -> bytes:
    return pair[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16").encode()


def _good(text: str) -> int:
    return sum(character > "\x7f" for character in text) - text.count("\ufffd")


def _known(declared: str | None) -> str | None:
    try:
        name = codecs.lookup(_MEANT.get((declared or "").lower(), declared or "")).name
    except (LookupError, ValueError):
        return None
    return None if name in _NOT_OF_DOCUMENTS else _MEANT.get(name, name)


def _guessed(data: bytes) -> Decoded | None:
    """The European reading of the bytes where it is plausible, else the guess of charset-normalizer, which knows the
    rest of the world, if it makes runs of the bytes: single letters would rather be European. None where neither fits.

    The confidence is shared among the candidates that are about as good and read differently.
    """
    ranked = readings(data)
    plausible = ranked[0].plausible and not any(_share(_KANA, data, encoding) > 0.5 for encoding in _JAPANESE)
    found = None if plausible else _of_the_world(data)
    if not plausible and (found is None or _in_runs(found.text)):
        return found
    for best in ranked:
        confidence = min(_CAP, round(1 / sum(2 ** ((best.bits - one.bits) / _BITS_TO_DOUBT) for one in ranked), 3))
        rival = next(one.encoding for one in ranked if one is not best) if confidence < _SURE else None
        if found := _strict(data, best.encoding, confidence) or _nearly(data, best.encoding, confidence):
            return replace(found, rival=rival)
    return None


def _of_the_world(data: bytes) -> Decoded | None:
    """The encoding of East Asia whose letters people write often; else charset-normalizer's guess, of its ties the one
    whose language it recognises best, Windows first."""
    often = often_written(data, {"euc_jp": _OF_VENDORS})
    if often and (found := _strict(data, *often)):
        return found
    ranked = [one for one in from_bytes(data, cp_exclusion=_WIDE) if _share(_HALF_WIDTH, data, one.encoding) < 0.25]
    if not ranked:
        return None
    best = ranked[0]
    ties = [one for one in ranked if one.chaos <= best.chaos + _TIE and one.coherence >= best.coherence - 10 * _TIE]
    windows = [one for one in ties if one.encoding.startswith("cp125")]
    chosen = max(windows or ties, key=lambda one: one.coherence)
    confidence = min(_CAP, round(max(0.0, 1.0 - best.chaos) / len(ties), 3))
    found = _strict(data, chosen.encoding, confidence)
    rival = next((one.encoding for one in ties if one is not chosen), None) if confidence < _SURE else None
    return found and replace(found, rival=rival)


def _share(kind: re.Pattern[str], data: bytes, encoding: str) -> float:
    """The share, 0 to 1, of the characters beyond ASCII in the first bytes that the pattern `kind` matches."""
    beyond = "".join(_BEYOND_ASCII.findall(data[:_SAMPLE].decode(encoding, "replace")))
    return len(kind.findall(beyond)) / max(1, len(beyond))


def _in_runs(text: str) -> bool:
    runs = _BEYOND_ASCII.findall(text)
    return sum(map(len, runs)) >= 2 * len(runs)


def _strict(data: bytes, encoding: str, confidence: float) -> Decoded | None:
    try:
        errors = _OF_VENDORS if encoding.startswith(("euc_jp", "iso2022_jp")) else "strict"
        return Decoded(data.decode(encoding, errors), encoding, confidence)
    except (UnicodeError, LookupError):  # LookupError: a codec that is none of text
        return None


def _nearly(data: bytes, encoding: str, confidence: float, rare: int = _RARE) -> Decoded | None:
    """The bytes read as `encoding` with U+FFFD for bad ones; None where these are more than one in `rare`."""
    found = _replaced(data, encoding, confidence)
    cut = found.text.endswith("\ufffd")  # a text that breaks off within a character
    return found if max(rare > 0, rare * (found.replaced - cut)) <= _good(found.text) else None


def _replaced(data: bytes, encoding: str, confidence: float) -> Decoded:
    text = data.decode(encoding, "replace")
    return Decoded(text, encoding, confidence, text.count("\ufffd"))


def _wide(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark, by where its zero bytes lie."""
    sample = data[:_SAMPLE]
    if len(sample) < 4 or 0 not in sample:
        return None
    first, second, third, fourth = (sample[place::4].count(0) / len(sample[place::4]) for place in range(4))
    if len(data) % 4 == 0 and first < 0.2 and third > 0.9 and fourth > 0.99:
        return "utf-32-le"
    if len(data) % 4 == 0 and first > 0.99 and second > 0.9 and fourth < 0.2:
        return "utf-32-be"
    even, odd = (first + third) / 2, (second + fourth) / 2
    if odd > 0.2 and even < 0.02:
        return "utf-16-le"
    if even > 0.2 and odd < 0.02:
        return "utf-16-be"
    return None
