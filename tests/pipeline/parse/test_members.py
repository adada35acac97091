"""Documents inside a document: their bytes in one file, their names, and how much is too much."""

import tempfile
from collections.abc import Iterator

import pytest

from pipeline.document import Member
from pipeline.errors import DocumentError, Failure
from pipeline.parse.limits import UNSUSPICIOUS, Limits
from pipeline.parse.members import Members


@pytest.fixture
def out() -> Iterator[int]:
    with tempfile.TemporaryFile() as file:
        yield file.fileno()


def members(out: int | None, container: int = 1000, documents: int = 10, size: int = 1 << 30) -> Members:
    return Members(out, container, Limits(), documents, size)


def test_bytes_follow_one_another(out: int) -> None:
    held = members(out)
    held.add("a/b.txt", [b"one", b"two"])
    held.refuse("c.doc", 7, Failure.ENCRYPTED, "with a password")
    held.add("d", [b"three"])
    found, images = held.finish()
    assert images == ()
    assert found == (
        Member("a/b.txt", 6, 0),
        Member("c.doc", 7, None, Failure.ENCRYPTED, "with a password"),
        Member("d", 5, 6),
    )
    with open(f"/proc/self/fd/{out}", "rb") as file:  # noqa: PTH123
        assert file.read() == b"onetwothree"


def test_names_are_told_apart(out: int) -> None:
    held = members(out)
    for name in ("a.txt", "a.txt", "a.txt", "a (2).txt", "b/c", "b/c", "", "\\x\\y"):
        held.add(name, [b""])
    names = [one.name for one in held.finish()[0]]
    assert len(set(names)) == len(names)
    assert names[:3] == ["a.txt", "a (2).txt", "a (3).txt"]
    assert names[4:7] == ["b/c", "b/c (2)", "without a name"]


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "\\\\host\\x", "C:\\x", "c:/x", "a\0b"])
def test_names_that_lead_away_are_refused_with_their_bytes(out: int, name: str) -> None:
    held = members(out)
    held.add(name, [b"payload"])
    (one,) = held.finish()[0]
    assert (one.failure, one.size, one.offset) == (Failure.NAME_REFUSED, 7, 0)


def test_too_many_documents_are_a_bomb(out: int) -> None:
    held = members(out, documents=2)
    held.add("a", [b"x"])
    held.refuse("b", 0, Failure.CORRUPT, "damaged")
    with pytest.raises(DocumentError) as raised:
        held.add("c", [b"x"])
    assert raised.value.failure is Failure.BOMB
    assert "limits.unpacked_documents (10,000)" in raised.value.reason


def test_too_many_bytes_are_a_bomb(out: int) -> None:
    with pytest.raises(DocumentError) as raised:
        members(out, size=10).add("a", [b"x" * 8, b"x" * 8])
    assert raised.value.failure is Failure.BOMB
    assert "limits.unpacked_mib (1,024 MiB)" in raised.value.reason


def test_a_ratio_counts_only_beyond_what_is_unsuspicious(out: int) -> None:
    small = members(out, container=1)
    small.add("a", [b"x" * 100_000])
    with pytest.raises(DocumentError) as raised:
        small.add("b", iter([b"x" * UNSUSPICIOUS]))
    assert raised.value.failure is Failure.BOMB
    assert raised.value.reason == "it unpacks to more times its own size than limits.unpacked_ratio (200) allows"


def test_without_a_place_they_are_counted() -> None:
    held = members(None)
    held.add("a", [b"x"])
    held.add("b", [b"x"])
    assert (held.open, held.left, held.finish()) == (False, 2, ((), ()))


def test_pictures_of_pages_lie_in_the_same_file(out: int) -> None:
    held = members(out)
    held.add("a", [b"12345"])
    held.picture("page 3", *held.write_picture(b"P5 1 1 255 x"))
    (image,) = held.finish()[1]
    assert (image.name, image.offset, image.size) == ("page 3", 5, 12)
