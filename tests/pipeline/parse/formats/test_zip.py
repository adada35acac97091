"""ZIP archives: what is in them, under which names, and what is done about those that lie."""

import io
import random
import stat
import struct
import time
import zipfile
import zlib

import pytest

from pipeline.errors import DocumentError, Failure
from pipeline.parse.unpack import directory
from pipeline.parse.unpack.directory import read_directory

TEXT = b"A line of text that is repeated.\n" * 200


def archive(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as made:
        for name, data in files.items():
            made.writestr(name, data)
    return buffer.getvalue()


def by_hand(
    raw: bytes,
    data: bytes,
    *,
    flags: int = 0,
    method: int = 0,
    size: int | None = None,
    crc: int | None = None,
    mode: int = 0,
    host: int = 3,
    extra: bytes = b"",
) -> bytes:
    """An archive of one member, of which anything may be a lie; `data` is as it is packed."""
    size, crc = len(data) if size is None else size, zlib.crc32(data) if crc is None else crc
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, flags, method, 0, 0, crc, len(data), size, len(raw), 0)
    local += raw + data
    entry = struct.pack(
        "<4s4B4HL2L5H2L",
        *(b"PK\1\2", 20, host, 20, 0, flags, method, 0, 0, crc, len(data), size),
        *(len(raw), len(extra), 0, 0, 0, mode << 16, 0),
    )
    entry += raw + extra
    return local + entry + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local), 0)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_files_come_in_the_order_of_the_archive(parse_members, method: int) -> None:
    files = {
        "b.txt": TEXT,
        "a/": b"",
        "a/a.txt": b"one",
        "empty.txt": b"",
        "large.bin": random.Random(1).randbytes(1_200_000),
    }
    parsed, found = parse_members(archive(files, method), "letters.docx")
    assert (parsed.text, parsed.media_type, parsed.notes) == ("", "application/zip", ())
    assert list(found) == ["b.txt", "a/a.txt", "empty.txt", "large.bin"]
    assert found == {name: data for name, data in files.items() if name != "a/"}


def test_the_directory_is_that_of_zipfile() -> None:
    data = archive({f"folder/{number}.txt": TEXT[:number] for number in range(300)})
    with zipfile.ZipFile(io.BytesIO(data)) as reference:
        expected = [(i.filename, i.CRC, i.compress_size, i.file_size, i.header_offset) for i in reference.infolist()]
    found = [(one.name, one.crc, one.packed, one.size, one.offset) for one in read_directory(data).entries]
    assert found == expected


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("Verträge/Prüfbericht für Köln.txt", "utf-8"),
        ("Verträge/Prüfbericht für Köln.txt", "cp850"),
        ("Договор аренды квартиры.txt", "cp1251"),
        ("審計壓縮檔案檢索測試文件.txt", "big5"),
    ],
)
def test_names_in_local_encodings(parse_members, name: str, encoding: str) -> None:
    _, found = parse_members(by_hand(name.encode(encoding), b"x"))
    assert list(found) == [name]


def test_the_name_that_info_zip_adds_is_taken(parse_members) -> None:
    raw, name = b"K\xffln.txt", "Köln.txt".encode()
    field = struct.pack("<BL", 1, zlib.crc32(raw)) + name
    _, found = parse_members(by_hand(raw, b"x", extra=struct.pack("<2H", 0x7075, len(field)) + field))
    assert list(found) == ["Köln.txt"]


def test_a_name_that_leads_away_is_refused(parse_members) -> None:
    _, found = parse_members(archive({"../../etc/passwd": b"x", "good.txt": b"y"}))
    assert found == {"../../etc/passwd": Failure.NAME_REFUSED, "good.txt": b"y"}


def test_what_no_person_put_there_is_counted(parse_members) -> None:
    left = ["__MACOSX/._a.txt", "photos/Thumbs.db", "THUMBS.DB", "a.pdf:Zone.Identifier", "share/#recycle/old.txt"]
    left += ["$RECYCLE.BIN\\S-1-5\\$R1.txt", "b.txt~", "c.pdf.crdownload", "@eaDir/d.txt"]
    parsed, found = parse_members(archive({**dict.fromkeys(left, b"no"), "a.txt": b"text"}))
    patterns = [
        "__MACOSX/",
        "Thumbs.db",
        "*Zone.Identifier",
        "#recycle/",
        "$RECYCLE.BIN/",
        "*~",
        "*.crdownload",
        "@eaDir/",
    ]
    counts = {pattern: 1 + (pattern == "Thumbs.db") for pattern in patterns}
    notes = [
        f"files with a name that only systems and programs give ({pattern}), not read: {count}"
        for pattern, count in counts.items()
    ]
    assert (found, parsed.notes) == ({"a.txt": b"text"}, tuple(notes))


def test_links_are_not_followed(parse_members) -> None:
    link = zipfile.ZipInfo("passwords")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr(link, "/etc/passwd")
        made.writestr("a.txt", "text")
    parsed, found = parse_members(buffer.getvalue())
    assert (found, parsed.notes) == ({"a.txt": b"text"}, ("links and devices in it, not followed: 1",))


def test_passwords(parse_members, fail) -> None:
    assert fail(by_hand(b"a.txt", b"secret", flags=1)).failure is Failure.ENCRYPTED
    data = bytearray(archive({"a.txt": b"one", "b.txt": b"two"}, zipfile.ZIP_STORED))
    data[data.rfind(b"PK\1\2") + 8] |= 1
    _, found = parse_members(bytes(data))
    assert found == {"a.txt": b"one", "b.txt": Failure.ENCRYPTED}


def test_a_method_that_is_not_read_is_named(parse_members) -> None:
    parsed, found = parse_members(by_hand(b"a.txt", b"xxxx", method=9))
    assert found == {"a.txt": Failure.UNSUPPORTED}
    assert "Deflate64" in (parsed.members[0].reason or "")


@pytest.mark.parametrize("lie", [{"crc": 1}, {"size": 3}, {"size": 300}, {"method": 8}, {"method": 12}, {"method": 14}])
def test_lies_about_a_member_cost_that_member(parse_members, lie: dict[str, int]) -> None:
    _, found = parse_members(by_hand(b"a.txt", b"some text in it", **lie))
    assert found == {"a.txt": Failure.CORRUPT}


def test_an_archive_that_unpacks_itself(parse_members, fail) -> None:
    _, found = parse_members(b"MZ" + bytes(1000) + archive({"a.txt": b"text"}), "setup.exe")
    assert found == {"a.txt": b"text"}
    assert fail(b"MZ" + bytes(1000)).failure is Failure.UNSUPPORTED


def test_zip64(parse_members, fail) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made, made.open("a.txt", "w", force_zip64=True) as file:
        file.write(b"text")
    assert parse_members(buffer.getvalue())[1] == {"a.txt": b"text"}
    plain = by_hand(b"a.txt", b"text")
    end = plain.rfind(b"PK\5\6")
    size, offset = struct.unpack_from("<2L", plain, end + 12)
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, offset)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    marks = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    assert parse_members(plain[:end] + record + locator + marks)[1] == {"a.txt": b"text"}
    lie = record[:40] + struct.pack("<2Q", 1 << 60, 1 << 61)
    assert fail(plain[:end] + lie + locator + marks).failure is Failure.CORRUPT
    assert fail(plain[:end] + marks).failure is Failure.CORRUPT


def test_volumes_are_to_be_joined(fail) -> None:
    data = bytearray(by_hand(b"a.txt", b"text"))
    end = data.rfind(b"PK\5\6")
    data[end + 4] = 2
    for part in (bytes(data), b"\x80\xff\0\1" + bytes(data), b"PK\7\x08" + bytes(data[:end])):
        error = fail(part)
        assert (error.failure, "volume" in error.reason) == (Failure.UNSUPPORTED, True)


def test_members_that_share_their_bytes_are_a_bomb(fail) -> None:
    """David Fifield's: every entry of the directory points at one block of compressed zeros."""
    data = archive({"a": bytes(10_000_000)})
    start, end = data.rfind(b"PK\1\2"), data.rfind(b"PK\5\6")
    many = data[start:end] * 250
    count = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 250, 250, len(many), start, 0)
    error = fail(data[:start] + many + count)
    assert (error.failure, "over one another" in error.reason) == (Failure.BOMB, True)


def test_a_ratio_that_no_document_has_is_a_bomb(parse_members) -> None:
    with pytest.raises(DocumentError) as raised:
        parse_members(archive({"a": bytes(80 << 20)}))
    assert raised.value.failure is Failure.BOMB


def test_a_directory_of_very_many_entries_is_not_read(fail, monkeypatch) -> None:
    entry = by_hand(b"", b"")[30:-22]
    count = 1_000_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count & 0xFFFF, count & 0xFFFF, len(entry) * count, 4, 0)
    began = time.process_time()
    assert fail(b"PK\3\4" + entry * count + end).failure is Failure.BOMB
    assert time.process_time() - began < 5
    monkeypatch.setattr(directory, "_ENTRIES", 1)
    with pytest.raises(DocumentError):
        read_directory(archive({"a": b"1", "b": b"2"}))


def test_an_empty_archive_is_empty_and_one_that_says_so_is_damaged(fail) -> None:
    assert fail(archive({})).failure is Failure.EMPTY
    assert fail(archive({"a": b"1"})[:31] + archive({})).failure is Failure.CORRUPT
    assert fail(b"PK\3\4" + b"PK\5\6" * 1000).failure is Failure.CORRUPT


def test_a_package_that_is_no_document_is_an_archive(parse_members) -> None:
    _, found = parse_members(archive({"mimetype": b"image/openraster", "index.html": b"<p>x</p>"}))
    assert list(found) == ["mimetype", "index.html"]


def test_cut_anywhere_it_is_corrupt(fail) -> None:
    data = archive({f"{number}.txt": TEXT for number in range(5)})
    for part in range(1, 20):
        assert fail(data[: len(data) * part // 20]).failure is Failure.CORRUPT


def test_a_hundred_million_bytes_take_as_long_as_deflate_takes(parse_members) -> None:
    noise = random.Random(5).randbytes(10_000)
    files = {
        f"{number}.txt": b"".join(noise[at : at + 40] * 5 for at in range(0, 10_000, 40)) * 20 for number in range(20)
    }
    data = archive(files)
    with zipfile.ZipFile(io.BytesIO(data)) as reference:
        began = time.perf_counter()
        for info in reference.infolist():
            assert reference.read(info)
        plain = time.perf_counter() - began
    began = time.perf_counter()
    _, found = parse_members(data)
    assert time.perf_counter() - began < 5 * plain + 2  # other work may be on the machine
    assert found == files


@pytest.mark.parametrize(
    ("encoding", "name"), [("gb18030", "合同.txt"), ("cp932", "契約書.txt"), ("cp949", "계약서.txt")]
)
def test_short_names_of_east_asia(parse_members, encoding: str, name: str) -> None:
    _, members = parse_members(by_hand(name.encode(encoding), b"Lease agreement"))
    assert members == {name: b"Lease agreement"}
