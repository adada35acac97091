"""A writer whose answers a test decides, and which is held to what an answer must be as any model is.

A token is a byte. What it writes is checked by the engine's own constraints, so that no test can let it write what a
model could not.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import engine
from engine.generate.constraint.grammar import Grammars
from engine.generate.endings import Endings, detokenize
from pipeline.tasks.kinds import Ids

END = 256
BYTES = [*(bytes([i]) for i in range(256)), b""]
GRAMMARS = Grammars(BYTES, [END])

Answering = Callable[[str, Any], Any]
Weighing = Callable[[str, str], float]


class Scribe:
    """`answer(conversation, spec)` gives what is written, as text or as the value of JSON; `weigh(conversation, text)`
    the log-probability of an answer that begins so. `surprise`: log-probability of a byte, by its place. `asked` keeps
    the conversations; an answer ends where the engine would end it."""

    end_ids = (END,)

    def __init__(
        self,
        answer: Answering | None = None,
        weigh: Weighing | None = None,
        *,
        context: int = 8192,
        surprise: Callable[[str, int], float] = lambda text, at: -0.01,
    ) -> None:
        self.context = context
        self.asked: list[str] = []
        self._answer, self._weigh, self._surprise = answer, weigh, surprise

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(text.encode()) for text in texts]

    def continuation(self, text: str) -> Ids:
        return np.frombuffer(text.encode(), np.uint8).astype(np.int32)

    def prompt(self, messages: Sequence[Mapping[str, str]]) -> Ids:
        return self.continuation("".join(f"<{m['role']}>{m['content']}" for m in messages) + "<assistant>")

    def check(self, constraint: Any) -> None:
        GRAMMARS.make(constraint)

    def generate(
        self, requests: Iterable[engine.Request], *, progress: Callable[[Any], None] | None = None
    ) -> Iterator[tuple[int, engine.Completion]]:
        """In the order of pairs turned round, so that nobody relies on an order: 1, 0, 3, 2 ..."""
        held: list[tuple[int, engine.Completion]] = []
        for number, request in enumerate(requests):
            held.append((number, self._completion(request)))
            if progress:
                progress(None)
            if len(held) == 2:
                yield from reversed(held)
                held = []
        yield from held

    def _completion(self, request: engine.Request) -> engine.Completion:
        conversation = bytes(request.prompt.tolist()).decode()
        self.asked.append(conversation)
        if request.choices:
            assert self._weigh
            texts = [bytes(i for i in choice.tolist() if i < END).decode() for choice in request.choices]
            return self._made(request, "", [self._weigh(conversation, text) for text in texts])
        assert self._answer
        said = self._answer(conversation, request.constraint)
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, separators=(",", ":"))
        if request.constraint is not None and len(text.encode()) <= request.limit:
            constraint = GRAMMARS.make(request.constraint)
            constraint.advance(list(text.encode()))
            assert constraint.is_over or constraint.check([END]), f"{text} must go on"
        return self._made(request, text, [])

    def _made(self, request: engine.Request, text: str, scores: list[float]) -> engine.Completion:
        every, endings = list(text.encode()), Endings(request, BYTES)
        ended = next(((at, how) for at in range(1, len(every) + 1) if (how := endings.after(every[:at]))), None)
        size, finish = ended or (len(every), "stopped")
        size, finish = (size, finish) if size <= request.limit else (request.limit, "length")
        ids = every[:size]
        written, offsets = detokenize(ids, BYTES)
        logprobs = [self._surprise(written, int(begin)) for begin, _ in offsets]
        return engine.Completion(
            np.array(ids, np.int32), written, np.array(logprobs, np.float32), offsets,
            finish, "", np.array(scores, np.float32), request.prompt.size, 0,
        )  # fmt: skip


def document_of(conversation: str) -> str:
    """What stands between the marks."""
    mark = conversation[conversation.rindex("[end of text ") + 13 :][:8]
    return conversation.partition(f"[text {mark}]\n")[2].partition(f"\n[end of text {mark}]")[0]
