r"""RTF as word processors of the nineties wrote it: code page 1252, \'xx for its letters, \u for the others."""

from markup import Block, Source

_HEAD = r"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\froman Times New Roman;}{\f1\fswiss Arial;}}"
_INFO = r"{\info{\title %s}{\author %s}}" + "\n" + r"\paperw11906\paperh16838\margl1134\margr1134\f0\fs22"


def write(source: Source) -> bytes:
    """The body as RTF."""
    info = _INFO % (_escape(source.headers["Title"]), _escape(source.headers["Author"]))
    return "\n".join([_HEAD, info, *(_group(block) for block in source.blocks), "}", ""]).encode("ascii")


def _group(block: Block) -> str:
    if block.kind == "heading":
        return rf"{{\pard\sb240\sa120\f1\b\fs{32 - 4 * block.level} {_escape(block.text)}\par}}"
    if block.kind == "table":
        return "\n".join(_row(row) for row in block.rows) + "\n" + r"\pard"
    if block.kind == "items":
        return "\n".join(rf"{{\pard\fi-360\li360\sa60 \bullet  {_escape(line)}\par}}" for line in block.lines)
    if block.kind == "break":
        return r"\page"
    text = r"\line ".join(map(_escape, block.lines)) if block.kind == "lines" else _escape(block.text)
    return rf"{{\pard\sa120 {text}\par}}"


def _row(cells: list[str]) -> str:
    edges = "".join(rf"\cellx{9600 * (i + 1) // len(cells)}" for i in range(len(cells)))
    return rf"\trowd{edges} " + "".join(rf"\pard\intbl {_escape(cell)}\cell " for cell in cells) + r"\row"


def _escape(text: str) -> str:
    return "".join(_letter(letter) for letter in text)


def _letter(letter: str) -> str:
    if letter in "\\{}":
        return "\\" + letter
    if letter.isascii():
        return letter
    try:
        return rf"\'{letter.encode('cp1252')[0]:02x}"
    except UnicodeEncodeError:
        return rf"\u{ord(letter)}?"
