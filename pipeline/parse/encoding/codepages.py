"""The code pages that Office names by number: of a document (\\ansicpg) and of a font (\\fcharset)."""

import codecs

_CHARSETS = {
    0: "cp1252", 1: "cp1252", 2: "latin-1", 77: "mac_roman", 78: "cp932", 79: "cp949", 80: "cp936", 81: "cp950",
    83: "mac_greek",
    85: "mac_turkish", 88: "mac_latin2", 89: "mac_cyrillic", 128: "cp932", 129: "cp949", 130: "johab", 134: "cp936",
    136: "cp950", 161: "cp1253", 162: "cp1254", 163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257",
    204: "cp1251",
    222: "cp874", 238: "cp1250", 254: "cp437", 255: "cp850",
}  # fmt: skip
_PAGES = {10000: "mac_roman", 10006: "mac_greek", 10007: "mac_cyrillic", 10029: "mac_latin2", 10081: "mac_turkish",
          65001: "utf-8", 20866: "koi8_r", 28591: "cp1252"}  # fmt: skip

_LOW = {byte: ord(text) for byte in range(0x80, 0xA0) if (text := bytes([byte]).decode("cp1252", "ignore"))}


def low_bytes(data: bytes) -> str:
    """Decode text that Office stores in one byte a character: Latin 1, with the signs of Windows at its controls."""
    return data.decode("latin-1").translate(_LOW)


def of_charset(number: int) -> str | None:
    """The encoding of a font's character set."""
    return _CHARSETS.get(number)


def of_page(number: int) -> str | None:
    """The encoding of a Windows code page, if Python has it."""
    name = _PAGES.get(number, f"cp{number}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return None
