"""OLE compound files by hand ([MS-CFB]), and what goes into them: the tests' own DOC, PPT, XLS and MSG."""

import struct

SECTOR, SMALL, CUTOFF = 512, 64, 4096
END, FREE, TABLE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD
Tree = dict[str, "bytes | Tree"]


def compound(tree: Tree) -> bytes:
    """A file with these streams, and storages where the value is a tree again."""
    entries: list[list[object]] = [["Root Entry", 5, FREE, FREE, END, 0]]
    contents: dict[int, bytes] = {}
    waiting = [(0, tree)]
    for parent, branch in waiting:
        previous = None
        for name, value in branch.items():
            number = len(entries)
            entries.append([name, 1 if isinstance(value, dict) else 2, FREE, FREE, END, 0])
            entries[parent if previous is None else previous][3 if previous is None else 2] = number
            previous = number
            if isinstance(value, dict):
                waiting.append((number, value))
            else:
                contents[number] = value
    return _laid_out(entries, contents)


def _laid_out(entries: list[list[object]], contents: dict[int, bytes]) -> bytes:
    small, small_table = b"", list[int]()
    sectors, table = list[bytes](), list[int]()

    def place(data: bytes) -> int:
        start, count = len(sectors), -(-len(data) // SECTOR)
        sectors.extend(data[at : at + SECTOR].ljust(SECTOR, b"\0") for at in range(0, len(data), SECTOR))
        table.extend([*range(start + 1, start + count), END][:count])
        return start if count else END

    for number, data in contents.items():
        entries[number][5] = len(data)
        if len(data) >= CUTOFF:
            entries[number][4] = place(data)
        elif data:
            count, start = -(-len(data) // SMALL), len(small_table)
            entries[number][4] = start
            small_table += [*range(start + 1, start + count), END]
            small += data.ljust(count * SMALL, b"\0")
    entries[0][4:] = place(small), len(small)
    mini = place(struct.pack(f"<{len(small_table)}I", *small_table))
    directory = place(b"".join(_entry(*entry) for entry in entries))
    count = next(count for count in range(1, 110) if 128 * count >= len(sectors) + count)
    first = len(sectors)
    table += [TABLE] * count + [FREE] * (128 * count - len(table) - count)
    header = struct.pack("<8s16xHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6, 0, count,
                         directory, 0, CUTOFF, mini, 1, END, 0)  # fmt: skip
    header += struct.pack("<109I", *range(first, first + count), *[FREE] * (109 - count))
    return header + b"".join(sectors) + struct.pack(f"<{len(table)}I", *table)


def _entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    raw = name.encode("utf-16-le") + b"\0\0"
    return struct.pack("<64sHBBIII36xIQ", raw, len(raw), kind, 1, FREE, right, child, start, size)
