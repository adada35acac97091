"""Tape archives, and single compressed files, in which they mostly come."""

import bz2
import gzip
import io
import lzma
import random
import tarfile

import pytest

from pipeline.errors import DocumentError, Failure

FILES = {"a.txt": b"one", "f" * 120 + "/" + "x" * 90: b"two " * 1000, "Köln.txt": "Grüße".encode(), "empty": b""}


def tape(files: dict[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as made:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def special(**fields: object) -> bytes:
    """An archive of one member with these fields, and of one file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        info = tarfile.TarInfo("special")
        for name, value in fields.items():
            setattr(info, name, value)
        made.addfile(info, io.BytesIO(bytes(info.size)))
        file = tarfile.TarInfo("a.txt")
        file.size = 4
        made.addfile(file, io.BytesIO(b"text"))
    return buffer.getvalue()


def checked(block: bytearray) -> bytes:
    """A header with its checksum made right."""
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_the_three_formats(parse_members, form: int) -> None:
    parsed, found = parse_members(tape(FILES, form), "letters.txt")
    assert (found, parsed.text, parsed.media_type, parsed.notes) == (FILES, "", "application/x-tar", ())


def test_a_header_of_the_old_form(parse_members) -> None:
    data = bytearray(tape({"a.txt": b"text"}, tarfile.USTAR_FORMAT))
    data[257:512] = bytes(255)
    data[:512] = checked(data[:512])
    assert parse_members(bytes(data))[1] == {"a.txt": b"text"}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_counted(parse_members, kind: bytes) -> None:
    parsed, found = parse_members(special(type=kind, linkname="/etc/passwd"))
    assert (found, parsed.notes) == ({"a.txt": b"text"}, ("links and devices in it, not followed: 1",))


def test_files_with_holes_are_refused(parse_members) -> None:
    assert parse_members(special(type=b"S", size=0))[1] == {"special": Failure.UNSUPPORTED, "a.txt": b"text"}
    pax = special(pax_headers={"GNU.sparse.major": "1", "GNU.sparse.name": "holes"}, size=5)
    assert parse_members(pax)[1] == {"holes": Failure.UNSUPPORTED, "a.txt": b"text"}


def test_folders_and_names_that_lead_away(parse_members) -> None:
    assert parse_members(special(type=tarfile.DIRTYPE))[1] == {"a.txt": b"text"}
    assert parse_members(tape({"../x": b"1", "._a": b"2"}))[1] == {"../x": Failure.NAME_REFUSED}


def test_a_number_of_base_256(parse_members) -> None:
    data = bytearray(tape({"a.txt": b"text"}, tarfile.GNU_FORMAT))
    data[124:136] = b"\x80" + (4).to_bytes(11, "big")
    data[:512] = checked(data[:512])
    assert parse_members(bytes(data))[1] == {"a.txt": b"text"}


@pytest.mark.parametrize("size", [b"\xff" * 12, b"\x80" + b"\xff" * 11, b"77777777777\0", b"zzz\0\0\0\0\0\0\0\0\0"])
def test_lies_about_the_size_are_damage(fail, size: bytes) -> None:
    data = bytearray(tape({"a.txt": b"text"}))
    data[124:136] = size
    data[:512] = checked(data[:512])
    assert fail(bytes(data)).failure is Failure.CORRUPT


def test_a_header_of_any_size_is_not_taken_into_memory(fail) -> None:
    data = bytearray(tape({"a.txt": b"text"}))
    data[156] = ord("x")
    data[124:136] = b"77777777777\0"
    data[:512] = checked(data[:512])
    assert fail(bytes(data)).failure is Failure.BOMB


@pytest.mark.parametrize(
    "records", [b"99999 path=x\n", b"1 \n", b"0 a=b\n", b"path=x\n", b"12 size=4x\n\n", b"-5 a=b\n"]
)
def test_damaged_records(fail, records: bytes) -> None:
    block = bytearray(tape({"x": records})[:512])
    block[156] = ord("x")
    assert fail(checked(block) + records.ljust(512, b"\0") + tape({"a.txt": b"text"})).failure is Failure.CORRUPT


def test_damage_in_the_middle_is_not_the_end(fail) -> None:
    data = bytearray(tape({"a.txt": b"one", "b.txt": b"two"}, tarfile.USTAR_FORMAT))
    data[1024 + 3] ^= 1
    assert fail(bytes(data)).failure is Failure.CORRUPT


def test_what_follows_the_end(parse_members) -> None:
    first, second = tape({"a.txt": b"one"}), tape({"b.txt": b"two"})
    assert list(parse_members(first + second)[1]) == ["a.txt", "b.txt"]
    assert parse_members(first + b"garbage!")[0].notes == ("bytes after its end that are no archive, not read: 8",)


def test_cut_anywhere_it_is_corrupt_or_says_that_its_end_is_missing(parse_members) -> None:
    data = tape({f"{number}.txt": b"text" * 300 for number in range(10)}, tarfile.USTAR_FORMAT)
    data = data.rstrip(b"\0")
    for part in range(1, 20):
        try:
            parsed, _ = parse_members(data[: len(data) * part // 20])
        except DocumentError as error:
            assert error.failure is Failure.CORRUPT  # noqa: PT017
        else:
            assert "no mark of its end" in parsed.notes[0]


ZEROS = bytes(66 << 20)
PACKERS = [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lambda data: lzma.compress(data, preset=0), "xz")]


@pytest.mark.parametrize(("pack", "suffix"), PACKERS)
def test_single_files(parse_members, pack, suffix: str) -> None:
    for text in (b"text", b"", b"long text " * 300_000):
        parsed, found = parse_members(pack(text), f"letter.txt.{suffix}")
        assert (found, parsed.text, parsed.notes) == ({"letter.txt": text}, "", ())
    assert list(parse_members(pack(b"text"), "letter")[1]) == ["letter"]


@pytest.mark.parametrize(("pack", "suffix"), PACKERS)
def test_a_tape_inside_is_unpacked_at_once(parse_members, pack, suffix: str) -> None:
    parsed, found = parse_members(pack(tape(FILES)), f"letters.tar.{suffix}")
    assert (found, parsed.notes) == (FILES, ())


@pytest.mark.parametrize(("pack", "suffix"), PACKERS)
def test_streams_one_after_another_and_what_follows(parse_members, pack, suffix: str) -> None:
    assert parse_members(pack(b"one") + pack(b"two"), f"a.{suffix}")[1] == {"a": b"onetwo"}
    padded, found = parse_members(pack(b"one") + bytes(100), f"a.{suffix}")
    assert (found, padded.notes) == ({"a": b"one"}, ())
    parsed, found = parse_members(pack(b"one") + b"garbage", f"a.{suffix}")
    assert found == {"a": b"one"}
    assert parsed.notes == ("bytes after its end that are not compressed, not read: 7",)


@pytest.mark.parametrize(("pack", "suffix"), PACKERS)
def test_cut_or_changed_anywhere_it_is_corrupt(parse_members, pack, suffix: str) -> None:
    for content in (random.Random(3).randbytes(5000), tape({"a": random.Random(4).randbytes(5000)})):
        data = pack(content)
        for part in range(1, 20):
            with pytest.raises(DocumentError) as raised:
                parse_members(data[: len(data) * part // 20] or data[:1])
            assert raised.value.failure in {Failure.CORRUPT, Failure.UNSUPPORTED, Failure.EMPTY}
        changed = bytearray(data)
        changed[len(data) // 2] ^= 0x55
        with pytest.raises(DocumentError) as raised:
            parse_members(bytes(changed))
        assert raised.value.failure is Failure.CORRUPT


def test_the_name_in_the_header(parse_members) -> None:
    buffer = io.BytesIO()
    with gzip.GzipFile("Grüße.txt", "wb", fileobj=buffer) as file:
        file.write(b"text")
    assert list(parse_members(buffer.getvalue(), "x.gz")[1]) == ["Grüße.txt"]
    assert list(parse_members(gzip.compress(b"text"), "letters.tgz")[1]) == ["letters.tar"]


@pytest.mark.parametrize(("pack", "suffix"), PACKERS)
def test_zeros_without_end_are_a_bomb(parse_members, pack, suffix: str) -> None:
    for content in (ZEROS, tape({"a": ZEROS})):
        with pytest.raises(DocumentError) as raised:
            parse_members(pack(content))
        assert raised.value.failure is Failure.BOMB
