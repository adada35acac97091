"""Dialogues across documents: the requests of many documents go through a model that writes together, so that it always
has as many as it can work on; the order of the documents stays.

The model takes requests when it has room for them. What a document asks next goes before the first request of another
one, and a new document begins when nothing else waits, so that no more of them are on their way than are needed.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Generic, TypeVar

import engine
from pipeline.answer.compute import Pulse, answered_row
from pipeline.document import Parsed, Row
from pipeline.errors import DocumentError
from pipeline.inbox.order import Work, failed_row
from pipeline.plan import UNBOUND, Bounds
from pipeline.tasks import Answer, Answerer, Dialogue, Window, WritingTask
from pipeline.text.chunk import Chunk

DOCUMENTS: Final = 256  # on their way at a time, with those that wait for one before them
CHARACTERS: Final = 8_000_000  # of their texts

T = TypeVar("T")


@dataclass
class _Talk(Generic[T]):
    """A document on its way; or another item, which only waits for its turn."""

    item: T
    dialogue: Dialogue | None = None
    requests: Sequence[engine.Request] = ()
    completions: dict[int, engine.Completion] = field(default_factory=dict)
    tokens: int = 0
    seconds: float = 0.0
    row: Row | None = None

    @property
    def characters(self) -> int:
        return len(self.item.parsed.text) if isinstance(self.item, Work) else 0


@dataclass
class Conversing:
    """Answers documents by a task on a model that writes."""

    task: WritingTask
    model: Answerer
    timer: Callable[[], float] = time.perf_counter
    bounds: Bounds = UNBOUND

    def __call__(
        self, items: Iterable[T], pulse: Pulse, *, review_hidden: bool = False
    ) -> Iterator[list[tuple[T, Row | None]]]:
        """Yield groups of items in order, with a row for each document, as `compute.Embedding` does."""
        yield from _Talking(self, iter(items), pulse, review_hidden).groups()


@dataclass
class _Talking(Generic[T]):
    """One way through all items."""

    by: Conversing
    items: Iterator[T]
    pulse: Pulse
    review_hidden: bool
    talks: deque[_Talk[T]] = field(default_factory=deque)  # in order, from the first that is not over
    waiting: deque[tuple[_Talk[T], int]] = field(default_factory=deque)  # requests that were not taken yet
    taken: list[tuple[_Talk[T], int]] = field(default_factory=list)  # by the call of `generate` that goes on
    more: bool = True  # whether there may be items that have not begun
    characters: int = 0
    looked: float = field(init=False)

    def __post_init__(self) -> None:
        self.looked = self.by.timer()

    def groups(self) -> Iterator[list[tuple[T, Row | None]]]:
        while True:
            self.taken = []
            for number, completion in self.by.model.generate(self._requests(), progress=self._progress):
                # The time since the last look belongs to the documents on their way, to each the same.
                now = self.by.timer()
                going = [talk for talk in self.talks if talk.dialogue]
                for talk in going:
                    talk.seconds += (now - self.looked) / len(going)
                self.looked = now
                self._hear(*self.taken[number], completion)
                self._end_those_that_take_too_long()
                if over := self._over():
                    yield over
                    self.looked = self.by.timer()  # what the caller did with them is no document's time
            if over := self._over():
                yield over
            if not (self.waiting or self.more or self.talks):
                return

    def _requests(self) -> Iterator[engine.Request]:
        """Yield the requests that wait, then those of documents that begin, while not too many are on their way."""
        while self.waiting or self._begin():
            if self.waiting:
                talk, index = self.waiting.popleft()
                self.taken.append((talk, index))
                yield talk.requests[index]

    def _begin(self) -> bool:
        """Take in the next item; False if there is none, or no room for one."""
        if len(self.talks) >= DOCUMENTS or (self.talks and self.characters >= CHARACTERS):
            return False
        item = next(self.items, None)
        if item is None:
            self.more = False
            return False
        talk = _Talk(item)
        self.talks.append(talk)
        self.characters += talk.characters
        if isinstance(item, Work):
            try:
                text = item.parsed.text
                if 4 * len(text) > self.by.bounds.tokens:
                    self.by.bounds.check(self.by.model.count_tokens([text])[0])
            except DocumentError as error:
                talk.row = failed_row(item.arrival, item.parsed, error.failure, error.reason)
                return True
            talk.dialogue = self.by.task.dialogue(item.parsed)
            self._go_on(talk, item, None)
        return True

    def _end_those_that_take_too_long(self) -> None:
        """What they still wait to ask is not asked, and what they hear is for nobody any more."""
        for talk in self.talks:
            try:
                self.by.bounds.check(0, talk.seconds if talk.dialogue else 0.0)
            except DocumentError as error:
                assert isinstance(talk.item, Work)
                row = failed_row(talk.item.arrival, talk.item.parsed, error.failure, error.reason)
                talk.row, talk.dialogue = row.having(tokens=talk.tokens), None
                self.waiting = deque(each for each in self.waiting if each[0] is not talk)

    def _hear(self, talk: _Talk[T], index: int, completion: engine.Completion) -> None:
        if not talk.dialogue:
            return
        talk.completions[index] = completion
        talk.tokens += completion.prompt_tokens + completion.ids.size
        if isinstance(talk.item, Work) and len(talk.completions) == len(talk.requests):
            heard = [talk.completions[i] for i in range(len(talk.requests))]
            self._go_on(talk, talk.item, heard)

    def _go_on(self, talk: _Talk[T], work: Work, heard: Sequence[engine.Completion] | None) -> None:
        """Send what was heard (None: nothing was asked yet), until the dialogue asks something or is over."""
        assert talk.dialogue is not None
        try:
            talk.completions = {}
            talk.requests = next(talk.dialogue) if heard is None else talk.dialogue.send(heard)
            while not talk.requests:
                talk.requests = talk.dialogue.send(())
        except StopIteration as end:
            answer: Answer = end.value
            chunks = chunks_of(work.parsed, answer.windows)
            row = answered_row(work, chunks, answer, review_hidden=self.review_hidden)
            talk.row = row.having(tokens=talk.tokens)
        except DocumentError as error:
            talk.row = failed_row(work.arrival, work.parsed, error.failure, error.reason).having(tokens=talk.tokens)
        else:
            self.waiting.extend((talk, index) for index in range(len(talk.requests)))
            return
        talk.dialogue = None

    def _over(self) -> list[tuple[T, Row | None]]:
        """The items from the first on that wait for nothing."""
        over = list[tuple[T, Row | None]]()
        while self.talks and not self.talks[0].dialogue:
            talk = self.talks.popleft()
            self.characters -= talk.characters
            if isinstance(talk.item, Work) and talk.row is not None:
                talk.row = talk.row.having(seconds=round(talk.item.seconds + talk.seconds, 6))
            over.append((talk.item, talk.row))
        return over

    def _progress(self, counters: Any) -> None:
        self.pulse(self.talks[0].tokens if self.talks else 0, 0)


def chunks_of(document: Parsed, windows: Sequence[Window]) -> list[Chunk]:
    """The windows of a document, from 0 to the end of its text; white space belongs to the one before it."""
    if not document.text:
        return []
    starts = [0, *(window.span.start for window in windows[1:]), len(document.text)]
    tokens = [window.tokens for window in windows] or [0]
    passages = min(1, len(windows))
    return [
        Chunk(start, end, count, passages, start) for (start, end), count in zip(pairwise(starts), tokens, strict=True)
    ]
