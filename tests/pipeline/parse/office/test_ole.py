"""OLE compound files: chains, sizes and directories, also those that lie; and what was made from them, damaged."""

import random
import struct
import tracemalloc
from pathlib import Path

import pytest

from pipeline.errors import DocumentError, Failure
from pipeline.parse.office.binary.ole import CompoundFile
from tests.pipeline.parse.compound import compound
from tests.pipeline.parse.legacy import cell, item, plc, presentation, shape, slide, text_atoms, word, workbook

SIZES = (0, 1, 63, 64, 65, 511, 512, 4095, 4096, 4097, 70_000)
END = 0xFFFFFFFE


def content(size: int) -> bytes:
    return bytes(number * 7 % 251 for number in range(size))


def test_streams_of_all_sizes() -> None:
    tree = {f"S{size}": content(size) for size in SIZES}
    file = CompoundFile(compound({**tree, "Folder": {"Inner": {"s": b"deep"}}}))
    for name, data in tree.items():
        assert file.read(file.root, name.lower()) == data, name
    assert file.read(file.root.storages["folder"].storages["inner"], "S") == b"deep"
    assert file.read(file.root, "absent") is None
    with pytest.raises(DocumentError):
        file.need(file.root, "absent")


def damaged(data: bytes, *changes: tuple[int, int]) -> bytes:
    """With other numbers at these places."""
    changed = bytearray(data)
    for at, number in changes:
        struct.pack_into("<I", changed, at, number)
    return bytes(changed)


def test_loops_and_lies_end() -> None:
    data = compound({"Big": content(5000), "Small": content(100)})
    table = 512 * (struct.unpack_from("<I", data, 76)[0] + 1)
    directory = 512 * (struct.unpack_from("<I", data, 48)[0] + 1)
    for changed in (
        damaged(data, (table, 0)),  # the first sector of the stream follows itself
        damaged(data, (directory + 128 + 116, END)),  # it has none
        damaged(data, (directory + 128 + 120, 0x7FFFFFFF)),  # it is longer than the file
        damaged(data, (directory + 128 + 120, 9000)),  # longer than its chain
    ):
        file = CompoundFile(changed)
        try:
            assert len(file.need(file.root, "Big")) == 5000
        except DocumentError as error:
            assert error.failure is Failure.CORRUPT  # noqa: PT017
    for changed in (
        damaged(data, (48, 99_999)),
        damaged(data, (60, 0)),
        damaged(data, (68, 0), (72, 1)),
        damaged(data, (directory + 68, 0), (directory + 72, 1), (directory + 76, 1)),
        damaged(data, (directory + 128 + 68, 1), (directory + 128 + 72, 1)),
    ):
        try:
            CompoundFile(changed)
        except DocumentError as error:
            assert error.failure is Failure.CORRUPT  # noqa: PT017


def test_a_directory_that_follows_itself_is_damage() -> None:
    data = compound({"A": b"x"})
    table, directory = (struct.unpack_from("<I", data, at)[0] for at in (76, 48))
    with pytest.raises(DocumentError):
        CompoundFile(damaged(data, (512 * (table + 1) + 4 * directory, directory)))


def test_streams_that_share_their_bytes_are_no_bomb() -> None:
    """A thousand entries of one chain: what is read in all is bounded by the size of the file."""
    count, size = 1000, 100_000
    data = bytearray(compound({f"{number}": content(size) if not number else b"" for number in range(count)}))
    directory = 512 * (struct.unpack_from("<I", data, 48)[0] + 1)
    for number in range(1, count):
        struct.pack_into("<IQ", data, directory + 128 * (number + 1) + 116, 0, size)
    file = CompoundFile(bytes(data))
    tracemalloc.start()
    with pytest.raises(DocumentError):
        [len(file.need(file.root, str(number))) for number in range(count)]
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_the_table_of_sectors_is_read_once_however_often_it_is_listed() -> None:
    data = compound({"A": content(60_000)})
    table = struct.unpack_from("<I", data, 76)[0]
    file = CompoundFile(damaged(data, *((76 + 4 * number, table) for number in range(109))))
    assert file.read(file.root, "A") == content(60_000)


def samples() -> list[bytes]:
    notes = {2: plc(3, 6, data=b"\0\0"), 3: plc(0, 3, 4)}
    return [
        word({"body": "one\x02 \x13 f \x14two\x15\x07\x07\r", "footnotes": "\x02a\r\r"}, parts=notes, cuts=[4],
             runs={(0, 1): b"\x3c\x08\x01"}, paragraphs={(3, 4): b"\1\0\x16\x24\x01"}),
        presentation(
            [(slide(shape(text_atoms("one"))), text_atoms("two")), (slide(notes=1), b"")], [slide(kind=0x03F0)]
        ),
        compound(item({0x37: "s", 0x1009: b"\x20\0\0\0\x20\0\0\0MELA\0\0\0\0{\\rtf1 text\\par}", 0x1013: b""},
                      **{"__attach_version1.0_#00000000": item({0x3701: b"x", 0x3707: "a"}, header=8)})),
        workbook({"One": cell(0, 0, "text") + cell(5, 5, 3.0), "Two": cell(1, 1, 1.0)}, hidden=["Two"]),
    ]  # fmt: skip


def hurt(original: bytes, rng: random.Random) -> bytes:
    """With bytes and numbers changed, cut out or doubled, at one to eight random places."""
    data = bytearray(original)
    for _ in range(rng.randint(1, 8)):
        place, act = rng.randrange(len(data)), rng.randrange(4)
        if act == 0:
            data[place] = rng.randrange(256)
        elif act == 1:
            data[place : place + 4] = rng.choice([b"\xff\xff\xff\xff", b"\0\0\0\0", b"\xff\xff\xff\x7f", b"\1\0\0\0"])
        elif act == 2:
            del data[place : place + rng.choice([1, 20, 64, 512])]
        else:
            data[place:place] = data[place : place + rng.choice([1, 20, 512])]
        data = data or bytearray(b"x")
    return bytes(data)


def check(parse, data: bytes) -> None:
    try:
        parsed = parse(data)
    except DocumentError as error:
        allowed = {Failure.CORRUPT, Failure.EMPTY, Failure.ENCRYPTED, Failure.UNSUPPORTED, Failure.TOO_LARGE}
        assert error.failure in allowed | {Failure.NEEDS_OCR}, (error, data)  # noqa: PT017
    else:
        assert parsed.text.strip() or parsed.members or "inside it" in " ".join(parsed.notes)
        assert all(0 <= start <= len(parsed.text) for start in parsed.page_starts)


def test_damage_anywhere_gives_text_or_a_typed_failure(parse) -> None:
    rng = random.Random(20261122)
    for original in samples():
        assert parse(original).text
        for _ in range(150):
            check(parse, hurt(original, rng))


def test_truncation_anywhere(parse) -> None:
    for original in samples():
        for end in range(1, len(original), 97):
            check(parse, original[:end])


def test_real_files_damaged(parse, data_folder: Path) -> None:
    rng = random.Random(20261123)
    for path in sorted((data_folder / "documents").rglob("*")):
        if path.suffix in {".doc", ".ppt", ".msg", ".xls"} and path.is_file():
            for _ in range(12):
                check(parse, hurt(path.read_bytes(), rng))
