"""A reader of QR codes (ISO/IEC 18004) that are not damaged: byte mode, without error correction. It shares no code
with their writer."""

import re
from collections.abc import Iterator

# Table 9: for versions 1 to 16, codewords of error correction in each block, and how many blocks there are.
BLOCKS = {
    "L": ("7 10 15 20 26 18 20 24 30 18 20 24 26 30 22 24", "1 1 1 1 1 2 2 2 2 4 4 4 4 4 6 6"),
    "M": ("10 16 26 18 24 16 18 22 22 26 30 22 22 24 24 28", "1 1 1 2 2 4 4 4 5 5 5 8 9 9 10 10"),
    "Q": ("13 22 18 26 18 24 18 22 20 24 28 26 24 20 30 24", "1 1 2 2 4 4 6 6 8 8 8 10 12 16 12 17"),
    "H": ("17 28 22 16 22 28 26 26 24 28 24 28 22 24 24 30", "1 1 2 4 4 4 5 6 8 8 11 11 16 16 18 16"),
}
LEVELS = {0b01: "L", 0b00: "M", 0b11: "Q", 0b10: "H"}
MASKS = (
    lambda x, y: (x + y) % 2,
    lambda x, y: y % 2,
    lambda x, y: x % 3,
    lambda x, y: (x + y) % 3,
    lambda x, y: (x // 3 + y // 2) % 2,
    lambda x, y: x * y % 2 + x * y % 3,
    lambda x, y: (x * y % 2 + x * y % 3) % 2,
    lambda x, y: ((x + y) % 2 + x * y % 3) % 2,
)
LIGHT = {"█": (True, True), "▀": (True, False), "▄": (False, True), " ": (False, False)}


def decode_terminal(text: str, border: int = 2) -> bytes:
    """What a code says that was printed light on dark, in blocks of half a line's height."""
    rows: list[list[bool]] = []
    for line in text.strip("\n").split("\n"):
        rows += [[not LIGHT[c][half] for c in line] for half in (0, 1)]
    size = len(rows[0]) - 2 * border
    return decode([row[border : border + size] for row in rows[border : border + size]])


def decode_svg(svg: str, border: int = 4) -> bytes:
    """What a code says that is one path of horizontal strokes, a unit wide, between white borders."""
    size = int(re.search(r'viewBox="0 0 (\d+) \1"', svg)[1]) - 2 * border  # type: ignore[index]
    dark = [[False] * size for _ in range(size)]
    x = y = 0.0
    for command, numbers in re.findall(r"([Mmh])([-\d. ]+)", re.search(r' d="([^"]*)"', svg)[1]):  # type: ignore[index]
        values = [float(each) for each in re.findall(r"-?[\d.]+", numbers)]
        if command == "h":
            for at in range(int(x), int(x + values[0])):
                dark[int(y) - border][at - border] = True
        x, y = (x, y) if command != "M" else (0.0, 0.0)
        x, y = x + values[0], y + (values[1] if len(values) > 1 else 0)
    return decode(dark)


def decode(dark: list[list[bool]]) -> bytes:
    """What a code says; dark[y][x]."""
    version = (len(dark) - 17) // 4
    level, mask = _format(dark)
    bits = [dark[y][x] ^ (MASKS[mask](x, y) == 0) for x, y in _places(version)]
    codewords = [int("".join("01"[bit] for bit in bits[at : at + 8]), 2) for at in range(0, len(bits) // 8 * 8, 8)]
    data = "".join(f"{word:08b}" for word in _data(codewords, version, level))
    assert data[:4] == "0100", "byte mode"
    width = 8 if version < 10 else 16
    count = int(data[4 : 4 + width], 2)
    return bytes(int(data[at : at + 8], 2) for at in range(4 + width, 4 + width + 8 * count, 8))


def _format(dark: list[list[bool]]) -> tuple[str, int]:
    places = [(8, i) for i in range(6)] + [(8, 7), (8, 8), (7, 8)] + [(14 - i, 8) for i in range(9, 15)]
    bits = sum(dark[y][x] << i for i, (x, y) in enumerate(places)) ^ 0x5412
    return LEVELS[bits >> 13], bits >> 10 & 7


def _data(codewords: list[int], version: int, level: str) -> list[int]:
    """The data codewords, block after block."""
    correction, count = (int(row.split()[version - 1]) for row in BLOCKS[level])
    short = len(codewords) // count - correction
    lengths = [short + (block >= count - len(codewords) % count) for block in range(count)]
    blocks: list[list[int]] = [[] for _ in lengths]
    source = iter(codewords)
    for at in range(max(lengths)):
        for block, length in zip(blocks, lengths, strict=True):
            if at < length:
                block.append(next(source))
    return [word for block in blocks for word in block]


def _places(version: int) -> Iterator[tuple[int, int]]:
    """The modules of data, in their order: two columns at a time from the right, upward and downward in turn."""
    size = 17 + 4 * version
    taken = _fixed(version, size)
    columns = [right if right > 6 else right - 1 for right in range(size - 1, 0, -2)]
    for turn, right in enumerate(columns):
        for row in range(size):
            y = row if turn % 2 else size - 1 - row
            yield from ((x, y) for x in (right, right - 1) if (x, y) not in taken)


def _fixed(version: int, size: int) -> set[tuple[int, int]]:
    """The modules of patterns, format and version."""
    low, high = range(9), range(size - 8, size)
    taken = {(x, y) for xs, ys in ((low, low), (high, low), (low, high)) for x in xs for y in ys}
    taken |= {(6, i) for i in range(size)} | {(i, 6) for i in range(size)}
    if version >= 7:
        taken |= {place for i in range(6) for j in range(size - 11, size - 8) for place in ((i, j), (j, i))}
    count = version // 7 + 2
    step = (version * 4 + count * 2 + 1) // (count * 2 - 2) * 2
    centres = [6, *(size - 7 - i * step for i in range(count - 2, -1, -1))] if version > 1 else []
    corners = {(6, 6), (6, size - 7), (size - 7, 6)}
    for cx, cy in {(x, y) for x in centres for y in centres} - corners:
        taken |= {(cx + dx, cy + dy) for dx in range(-2, 3) for dy in range(-2, 3)}
    return taken
