"""The order in which a run takes documents: small ones do not wait for a large one, and none waits for ever."""

from pipeline.inbox.discover import Candidate
from pipeline.inbox.find import LARGE, oldest_first, smallest_first

HOUR = 3600 * 10**9


def file(path: str, size: int, came: int = 0) -> Candidate:
    return Candidate(path, size, came, 1)


def test_small_documents_come_before_large_ones_and_else_by_path() -> None:
    files = [file("a.pdf", 40 * LARGE), file("b.txt", 1), file("c.pdf", LARGE), file("d.txt", LARGE - 1), file("e", 0)]
    assert [each.path for each in smallest_first(files, ())] == ["b.txt", "d.txt", "e", "c.pdf", "a.pdf"]
    urgent = [*files, file("urgent/f.pdf", 99 * LARGE)]
    assert smallest_first(urgent, ("urgent",))[0].path == "urgent/f.pdf"


def test_in_a_window_a_large_document_steps_back_for_a_while_only() -> None:
    large = file("a.pdf", 40 * LARGE, came=0)  # ten hours
    before, after = file("b.txt", 9, came=9 * HOUR), file("c.txt", 9, came=11 * HOUR)
    assert oldest_first([after, large, before], ()) == [before, large, after]
