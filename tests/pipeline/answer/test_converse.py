"""Dialogues of many documents at once: their order, what is begun when, and that a failure takes nobody with it."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from pipeline import DocumentError, Failure
from pipeline.answer import converse as module
from pipeline.answer.converse import Conversing, chunks_of
from pipeline.document import Parsed, Span
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Work
from pipeline.plan import Bounds
from pipeline.tasks import Answer, Dialogue, Window
from tests.pipeline.tasks.scribe import Scribe


class Counting:
    """Asks as often as the digits of a text say: "21" is two requests and then one; "x" fails; "" asks nothing."""

    def __init__(self, scribe: Scribe) -> None:
        self.scribe = scribe

    def dialogue(self, document: Parsed) -> Dialogue:
        heard: list[str] = []
        for digit in document.text:
            if digit == "x":
                raise DocumentError(Failure.UNANSWERED, f"after {len(heard)}")
            requests = [self._request(f"{document.text}/{i}") for i in range(int(digit))]
            heard += [completion.text for completion in (yield requests)]
        return Answer({"heard": heard})

    def _request(self, text: str) -> engine.Request:
        return engine.Request(self.scribe.prompt([{"role": "user", "content": text}]), 100)


def echo(conversation: str, spec: Any) -> str:
    return conversation.removeprefix("<user>").removesuffix("<assistant>")


def answered(items: Sequence[Work | str]) -> list[tuple[Work | str, dict[str, Any] | None]]:
    scribe = Scribe(echo)
    groups = Conversing(Counting(scribe), scribe)(items, lambda done, total: None)
    return [pair for group in groups for pair in group]


def work(text: str, number: int = 0) -> Work:
    return Work(Arrival(str(number), str(number), 1), Parsed(text, "text/plain", "none"), 0.5)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text("0123x", max_size=4) | st.none(), max_size=9), st.integers(1, 4))
def test_items_come_out_in_order_with_their_own_answers(texts: list[str | None], together: int) -> None:
    items: list[Work | str] = ["other" if text is None else work(text, n) for n, text in enumerate(texts)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "DOCUMENTS", together)
        done = answered(items)
    assert [item for item, _ in done] == items
    for (_, row), text in zip(done, texts, strict=True):
        if text is None:
            assert row is None
            continue
        assert row is not None
        asked = text.partition("x")[0]
        told = [f"{text}/{i}" for digit in asked for i in range(int(digit))]
        assert row["tokens"] == sum(len(one) * 2 + len("<user><assistant>") for one in told)
        if "x" in text:
            assert (row["state"], row["reason"]) == ("failed", f"after {len(told)}")
        else:
            assert (row["state"], row["heard"]) == ("done", told)
        assert row["seconds"] >= 0.5


def test_no_more_documents_begin_than_the_model_asks_for() -> None:
    """The scribe takes two requests at a time: a third document begins when the first two have nothing more to ask."""
    begun = []

    def items() -> Any:
        for number in range(5):
            begun.append(number)
            yield work("12", number)

    scribe = Scribe(echo)
    groups = Conversing(Counting(scribe), scribe)(items(), lambda done, total: None)
    first = list(islice(groups, 1))
    assert [item.arrival.path for item, _ in first[0]] == ["0", "1"]
    assert begun == [0, 1]


def test_a_pulse_can_end_it() -> None:
    class EndedError(Exception):
        pass

    def pulse(done: int, total: int) -> None:
        raise EndedError

    scribe = Scribe(echo)
    with pytest.raises(EndedError):
        list(Conversing(Counting(scribe), scribe)([work("1")], pulse))


@pytest.mark.parametrize("spans", [[], [(0, 9)], [(1, 4), (6, 9)]])
def test_chunks_cover_the_text(spans: list[tuple[int, int]]) -> None:
    chunks = chunks_of(Parsed(" aaa  bbb ", "", ""), [Window(Span(*span), 3) for span in spans])
    assert [0, *(chunk.end for chunk in chunks)] == [*(chunk.start for chunk in chunks), 10]
    assert chunks_of(Parsed("", "", ""), []) == []


def test_a_document_that_takes_too_long_asks_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer takes a second: the long one is stopped, and those beside it and behind it are answered."""
    clock, heard = [0.0], list[str]()

    def answer(conversation: str, spec: Any) -> str:
        clock[0] += 1.0
        heard.append(echo(conversation, spec))
        return heard[-1]

    scribe, items = Scribe(answer), [work("1", 0), work("1111111111111111", 1), work("2", 2), work("1", 3)]
    conversing = Conversing(Counting(scribe), scribe, lambda: clock[0], Bounds(10**6, 5.0))
    rows = [row for group in conversing(items, lambda done, total: None) for _, row in group if row]
    assert [(row["path"], row["state"]) for row in rows] == [
        ("0", "done"),
        ("1", "failed"),
        ("2", "done"),
        ("3", "done"),
    ]
    assert rows[1]["failure"] == "too_long"
    limit = "the limit is 5 s (limits.document_seconds in site.yaml): split it, or raise the limit"
    assert rows[1]["reason"].endswith(limit)
    assert "heard" not in rows[1]
    assert sum(text.startswith("1111") for text in heard) < 16


def test_a_text_of_too_many_tokens_asks_nothing() -> None:
    heard: list[str] = []

    def answer(conversation: str, spec: Any) -> str:
        heard.append(echo(conversation, spec))
        return heard[-1]

    scribe = Scribe(answer)
    conversing = Conversing(Counting(scribe), scribe, bounds=Bounds(tokens=3))
    rows = [row for group in conversing([work("1" * 9), work("1", 1)], lambda d, t: None) for _, row in group if row]
    assert [(row["state"], row.get("failure")) for row in rows] == [("failed", "too_long"), ("done", None)]
    found = scribe.count_tokens(["1" * 9])[0]
    limit = "the limit is 3 (limits.document_tokens in site.yaml): split it, or raise the limit"
    assert rows[0]["reason"] == f"its text has {found} tokens; {limit}"
    assert heard == ["1/0"]
