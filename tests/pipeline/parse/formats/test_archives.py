"""Archives of all kinds: the real ones, and damage at random places."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from pipeline.errors import DocumentError, Failure

UNSUPPORTED, CORRUPT, ENCRYPTED = Failure.UNSUPPORTED, Failure.CORRUPT, Failure.ENCRYPTED
REAL: dict[str, int | Failure] = {  # how many documents are inside, or why they cannot be had
    "bob.gz": 1, "multiple.gz": 1, "quine.gz": 1,
    "complex.mbox": 3, "testMBOX_complex.mbox": 1,
    "droste.zip": 2, "gbk.zip": 1, "test-documents.zip": 9, "test-zip-of-zip.zip": 1, "testOpenOfficeInAZip.zip": 1,
    "testZipEncrypted.zip": 2, "testZipEntryNameCharsetShiftSJIS.zip": 2,
    "test-documents-spanned.zip": UNSUPPORTED, "testZIP_corrupted_oom.zip": CORRUPT,
    "test-nested-tarball.tar": 1, "testTAR_no_magic.tar": 3,
    "full_encrypted.7z": UNSUPPORTED, "test-documents.7z": UNSUPPORTED, "test7Z_protected_passTika.7z": UNSUPPORTED,
    "testLZMA_oom": UNSUPPORTED, "testZ_oom.Z": UNSUPPORTED, "testPGPEncrypted.gpg": ENCRYPTED,
    "testPagesPwdProtected.pages": UNSUPPORTED,
    "testPKCS7_signed_data_def.p7m": 1, "testRFC822_encrypted_zip": 1, "testRFC822_multipart_attachments.eml": 2,
    "test-incremental-updates.eml": 1, "testThunderbirdEml.eml": 0,
}  # fmt: skip


@pytest.mark.parametrize("name", REAL)
def test_real_archives(parse_members, data_folder: Path, name: str) -> None:
    expected = REAL[name]
    data = (data_folder / "documents/tika" / name).read_bytes()
    if isinstance(expected, Failure):
        with pytest.raises(DocumentError) as raised:
            parse_members(data, name)
        assert raised.value.failure is expected
    else:
        assert len(parse_members(data, name)[1]) == expected


def test_names_in_real_archives(parse_members, data_folder: Path) -> None:
    folder = data_folder / "documents/tika"
    names = {
        "testZipEntryNameCharsetShiftSJIS.zip": ["文章1.txt", "文章2.txt"],
        "gbk.zip": ["审计压缩包文件检索测试/集团邮件审计系统2021年自动巡检需求文档_V4.0.doc"],
        "bob.gz": ["alice.txt"],
    }
    for name, expected in names.items():
        assert list(parse_members((folder / name).read_bytes(), name)[1]) == expected


def samples() -> list[bytes]:
    files = {"a.txt": b"some text " * 20, "Köln/b.txt": "Grüße".encode() * 20, "c" * 120: b"x"}
    zipped, taped = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for method, (name, data) in enumerate(files.items()):
            archive.writestr(name, data, [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2][method])
    with tarfile.open(fileobj=taped, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    tape = taped.getvalue()
    line = b"From a@example.org Fri Nov 20 10:00:00 2026\n"
    box = (line + b"From: a@b\nSubject: x\nContent-Length: 5\n\ntext\n\n") * 3
    return [zipped.getvalue(), tape, gzip.compress(tape), bz2.compress(tape), lzma.compress(tape), box]


def test_damage_anywhere_gives_documents_or_typed_failures(parse_members) -> None:
    """Bytes changed, cut and doubled at random places, the directory of a ZIP archive above all."""
    rng = random.Random(20261122)
    for original in samples():
        directory = original.find(b"PK\1\2")
        for _ in range(100):
            data = bytearray(original)
            for _ in range(rng.randint(1, 6)):
                first = directory if directory > 0 and rng.random() < 0.7 else 0
                place = rng.randrange(min(first, len(data) - 1), len(data))
                act = rng.randrange(4)
                if act < 2:
                    data[place] = rng.choice((0, 0xFF, rng.randrange(256)))
                elif act == 2:
                    del data[place : place + rng.randint(1, 20)]
                else:
                    data[place:place] = data[place : place + rng.randint(1, 20)]
                data = data or bytearray(b"x")
            try:
                parse_members(bytes(data), "letters")
            except DocumentError as error:
                assert error.failure not in {Failure.CRASHED, Failure.TIMEOUT}, (error, bytes(data))  # noqa: PT017
