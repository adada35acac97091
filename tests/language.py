"""A small language model of bytes for tests of what stands above a decoder: real attention over pages, random weights.

One row at a time goes through all layers, so that the bits of its logits depend on the ids of its sequence alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from engine.errors import EngineError
from engine.generate.constraint.spec import Constraint, Pattern, Spec
from engine.generate.model import LanguageModel
from engine.generate.request import PAGE, Ids

END, ASKED, ANSWERED = 256, 257, 258
VOCAB = 272


@dataclass(frozen=True)
class Sizes:
    context: int
    vocab: int = VOCAB


class TinyPages:
    def __init__(self, count: int, layers: int, width: int) -> None:
        self.states = np.zeros((count, layers, PAGE, 2, width), np.float16)
        self.bytes_per_page = layers * PAGE * 2 * width * 2

    def copy(self, source: int, target: int) -> None:
        self.states[target] = self.states[source]


class TinyDecoder:
    """`steps` tells of each call how many rows it had, and how many of them were wanted."""

    def __init__(self, context: int = 512, layers: int = 2, width: int = 16, seed: int = 0) -> None:
        chance = np.random.default_rng(seed)
        self.shape = Sizes(context)
        self.layers, self.width = layers, width
        self.tokens = chance.standard_normal((VOCAB, width)).astype(np.float32)
        self.tokens[END] /= 2  # most answers are as long as they may be
        self.places = chance.standard_normal((context, width)).astype(np.float32)
        self.matrices = chance.standard_normal((layers, 4, width, width)).astype(np.float32) / 2
        self.steps: list[tuple[int, int]] = []

    def pages(self, count: int, kind: str = "float16") -> TinyPages:
        return TinyPages(count, self.layers, self.width)

    def step(
        self, ids: Ids, positions: Ids, sequences: Ids, tables: Ids, pages: Any, wanted: Ids
    ) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.steps.append((len(ids), len(wanted)))
        assert ids.size == positions.size == sequences.size
        rows = [
            self._row(int(number), int(position), tables[sequence], pages.states)
            for number, position, sequence in zip(ids, positions, sequences, strict=True)
        ]
        return np.array([self.tokens @ rows[i] for i in wanted], np.float32).reshape(-1, VOCAB)

    def _row(self, number: int, position: int, table: Ids, states: np.ndarray) -> np.ndarray:
        x = self.tokens[number] + self.places[position]
        for layer, (q, k, v, out) in enumerate(self.matrices):
            normed = x / np.sqrt((x * x).mean() + np.float32(1e-5))
            states[table[position // PAGE], layer, position % PAGE] = k @ normed, v @ normed
            seen = states[table[: position // PAGE + 1], layer].reshape(-1, 2, self.width)[: position + 1]
            scores = np.einsum("nd,d->n", seen[:, 0].astype(np.float32), q @ normed) / np.float32(4)
            weights = np.exp(scores - scores.max())
            x = x + out @ np.einsum("nd,n->d", seen[:, 1].astype(np.float32), weights / weights.sum())
        return x / np.sqrt((x * x).mean())


class Bytes:
    """Each byte is a token; END ends an answer, ASKED and ANSWERED stand in prompts."""

    prompt_sha256 = "0" * 64
    token_bytes = (*(bytes([i]) for i in range(256)), *(b"" for _ in range(256, VOCAB)))
    end_ids = (END,)

    def count(self, text: str) -> int:
        return len(text.encode())

    def encode_within(self, text: str) -> list[int]:
        return [*text.encode()]


def ids_of(text: str) -> Ids:
    return np.frombuffer(text.encode(), np.uint8).astype(np.int32)


def chat(messages: Sequence[Mapping[str, str]]) -> Ids:
    parts = [np.array([ASKED], np.int32)]
    parts += [ids_of(message["content"]) for message in messages]
    return np.concatenate([*parts, np.array([ANSWERED], np.int32)])


class Form:
    """A constraint for tests: `#` in the pattern stands for a digit, `?` for a small letter, `*` for any byte or an end
    token; everything else must follow."""

    SIGNS: ClassVar = {"#": range(48, 58), "?": range(97, 123), "*": [*range(256), END]}

    def __init__(self, spec: Spec) -> None:
        assert isinstance(spec, Pattern)
        if "!" in spec.regex:
            raise EngineError(f"{spec.regex}: ! cannot be satisfied")
        self.pattern, self.at, self.ended = spec.regex, 0, False

    @property
    def is_over(self) -> bool:
        return self.ended or self.at == len(self.pattern)

    def _allowed(self, at: int) -> list[int]:
        if at >= len(self.pattern):
            return [END]
        return [*self.SIGNS.get(self.pattern[at], [ord(self.pattern[at])])]

    def mask(self) -> np.ndarray[Any, np.dtype[np.uint32]]:
        bits = np.zeros(-(-VOCAB // 32) * 32, bool)
        bits[self._allowed(self.at)] = True
        return np.packbits(bits, bitorder="little").view(np.uint32)

    def forced(self) -> list[int]:
        rest = self.pattern[self.at :]
        free = [at for at, sign in enumerate(rest) if sign in self.SIGNS]
        return [ord(sign) for sign in rest[: min(free, default=len(rest))]]

    def advance(self, ids: Sequence[int]) -> None:
        if self.check(ids) < len(ids):
            raise EngineError(f"{list(ids)} is not allowed")
        self.at += len(ids)
        self.ended = self.ended or END in ids

    def check(self, ids: Sequence[int]) -> int:
        for at, number in enumerate(ids):
            if number not in self._allowed(self.at + at):
                return at
        return len(ids)


class Forms:
    """Makes constraints by `make`."""

    def __init__(self, make: Callable[[Spec], Constraint]) -> None:
        self.make = make

    def masks(self, constraints: Sequence[Constraint]) -> np.ndarray[Any, np.dtype[np.uint32]]:
        return np.stack([constraint.mask() for constraint in constraints])


def tiny_language_model(
    make: Callable[[Spec], Constraint] = Form, decoder: Any = None, **options: Any
) -> LanguageModel:
    """`options` are those of LanguageModel."""
    facts = {"architecture": "tiny"}
    return LanguageModel(
        decoder or TinyDecoder(), Bytes(), sha256="1" * 64, facts=facts, chat=chat, makes=Forms(make), **options
    )
