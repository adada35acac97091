"""What sha256sum writes is read, and what it would not write is told at its line."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.inbox import batches
from pipeline.inbox.batches import BadManifestError, parse_manifest

A, B = "a" * 64, "b" * 64
NAMES = [
    b"a.pdf",
    b" b .pdf",
    b"*c",
    b"new\nline",
    b"re\rturn",
    b"back\\slash",
    b"\\n",
    b"\xff\xfe.txt",
    b"\x1b[2J",
    b"n" * 255,
]


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="coreutils")
@pytest.mark.parametrize("mode", ["--text", "--binary"])
def test_what_sha256sum_writes(tmp_path: Path, mode: str) -> None:
    (tmp_path / "sub").mkdir()
    names = [os.fsdecode(name) for name in [*NAMES, *(b"sub/" + name for name in NAMES)]]
    for name in names:
        (tmp_path / name).write_bytes(os.fsencode(name) * 3)
    told = subprocess.run(["sha256sum", mode, "--", *names], cwd=tmp_path, capture_output=True, check=True).stdout
    assert parse_manifest(told) == {name: hashlib.sha256(os.fsencode(name) * 3).hexdigest() for name in names}
    assert parse_manifest(told).keys() == dict.fromkeys(names).keys()


def test_forms_of_lines() -> None:
    body = f"\n{A}  ./x/./a.pdf\n  \n{B.upper()} *b.pdf\n{A}  x/a.pdf\n".encode()
    assert parse_manifest(body) == {"x/a.pdf": A, "b.pdf": B}
    assert parse_manifest(f"{A}  a.pdf\r\n\r\n\\{B}  b\\r\r\n".encode()) == {"a.pdf": A, "b\r": B}
    empty = hashlib.sha256(b"").hexdigest()
    assert parse_manifest(f"{A}  a\n{empty}  manifest.sha256\n".encode()) == {"a": A}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "1: found no file, expected a line for each file of the batch"),
        (b"\n \n", "1: found no file, expected a line for each file of the batch"),
        (f"{A}  a.pdf".encode(), f"1: found '{A}  a.pdf' without a line end, expected a line end (is it complete?)"),
        (f"{A}  a.pdf\n{B}".encode(), f"2: found '{B}' without a line end, expected a line end (is it complete?)"),
        (f"{A}  a.pdf\nhello\n".encode(), "2: found 'hello', expected 64 hexadecimal digits"),
        (f"{A[1:]}  a.pdf\n".encode(), f"1: found '{A[1:]}  a.pdf', expected 64 hexadecimal digits"),
        (f"{A} a.pdf\n".encode(), "expected 64 hexadecimal digits, two spaces (or a space and *) and a name"),
        (f"{A}  \n".encode(), "expected 64 hexadecimal digits"),
        (f"SHA256 (a.pdf) = {A}\n".encode(), "1: found 'SHA256 (a.pdf) = aaa"),
        (f"{A}  a\0b\n".encode(), "expected 64 hexadecimal digits"),
        (f"\\{A}  a\\x\n".encode(), "1: found '\\x', expected \\\\, \\n or \\r"),
        (f"\\{A}  a\\\n".encode(), "1: found '\\', expected \\\\, \\n or \\r"),
        (f"{A}  ../a.pdf\n".encode(), "1: found '../a.pdf', expected the name of a file in the manifest's folder or"),
        (f"{A}  x/../../a.pdf\n".encode(), "1: found 'x/../../a.pdf'"),
        (f"{A}  /etc/passwd\n".encode(), "1: found '/etc/passwd'"),
        (f"{A}  x//a\n".encode(), "1: found 'x//a'"),
        (f"{A}  x/\n".encode(), "1: found 'x/'"),
        (f"{A}  .\n".encode(), "1: found '.'"),
        (f"{A}  a\n{B}  a\n".encode(), "2: found another sha256 of 'a', expected every name once"),
        (f"{A}  \x1b[2J/../a\n".encode(), "1: found '\\x1b[2J/../a'"),
        (f"{A}  {'n' * 5000}\n".encode(), "1: found a name of 5,000 bytes, expected at most 4,096"),
        (b"x" * 1000 + b"\n", f"1: found '{'x' * 80}…', expected"),
    ],
)  # fmt: skip
def test_bad_lines_are_told(body: bytes, message: str) -> None:
    with pytest.raises(BadManifestError) as error:
        parse_manifest(body)
    assert str(error.value).startswith(message) or message in str(error.value)


def test_too_many_lines_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadManifestError, match="found more, expected at most 64 MiB and 1,000,000 lines"):
        parse_manifest(b"\n" * (batches.MAX_LINES + 1))
    monkeypatch.setattr(batches, "MAX_BYTES", 100)
    with pytest.raises(BadManifestError, match="found more"):
        parse_manifest(f"{A}  {'n' * 40}\n".encode())


@given(
    st.binary(max_size=300)
    | st.lists(st.sampled_from([A.encode(), b"  ", b" *", b"\\", b"\n", b"../", b"a", b"/"])).map(b"".join)
)
@settings(max_examples=300, deadline=None)
def test_whatever_is_in_it_no_name_leads_out(body: bytes) -> None:
    try:
        files = parse_manifest(body)
    except BadManifestError:
        return
    for name, sha256 in files.items():
        assert {"", ".", ".."}.isdisjoint(name.split("/"))
        assert len(bytes.fromhex(sha256)) == 32


def test_a_manifest_cut_anywhere_names_whole_files_only() -> None:
    body = f"{A}  first.pdf\n\\{B} *se\\\\cond.pdf\n".encode()
    for end in range(len(body)):
        try:
            assert parse_manifest(body[:end]) == {"first.pdf": A}
        except BadManifestError:
            continue
