"""A request's answer has the same bits alone and in any batch, by a real decoder: for any number of threads, size of
a step and number of sequences, with and without shared prefixes and guesses, for keys and values of either kind."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.generate.model import LanguageModel
from engine.generate.scheduler import Limits
from engine.gguf import GgmlType, read
from engine.models import decoders
from tests.decoders import write_decoder
from tests.models import WORDS

TEXT = " ".join(["the rent is paid on the first of a month", *WORDS])
ALONE = Limits(sequences=1, rows=1, share=False, guess=False)
SETTINGS = [
    (1, Limits()), (3, Limits(rows=33)), (2, Limits(sequences=5, rows=7, guess=False)), (3, Limits(share=False)),
    (2, Limits(sequences=20, share=False, guess=False)),
]  # fmt: skip
Found = list[tuple[str, str, bytes, bytes, bytes]]
Make = Callable[[int, str, Limits], LanguageModel]


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A model of so many threads, keys and values of a kind, and limits."""
    path = write_decoder(tmp_path_factory.mktemp("decoder") / "m.gguf", "llama", GgmlType.Q4_0)
    whole = engine.load_decoder(path, cache_mib=16)

    def of(threads: int, kv: str, limits: Limits) -> LanguageModel:
        decoder = decoders.load(read(path), lambda make: make(), threads)
        return LanguageModel(
            decoder, whole._words, sha256=whole.sha256, facts={}, chat=whole._chat, makes=whole._makes, cache_mib=16,
            kv=kv, limits=limits,
        )  # fmt: skip

    return of


def requests(model: LanguageModel) -> list[engine.Request]:
    """Under one instruction: free answers, constrained ones and choices."""
    found = []
    for i in range(16):
        messages = [{"role": "system", "content": TEXT}, {"role": "user", "content": TEXT[i : 2 * i + 9]}]
        prompt, specs = model.prompt(messages), (None, None, None, engine.Pattern("[0-9]{3} [a-z]{2}"))
        found.append(engine.Request(prompt, 4 + 2 * i, constraint=specs[i % 4]))
    choices = tuple(np.array(ids, np.int32) for ids in ([5, 6, 7], [5, 6, 9], [8]))
    return [*found, engine.Request(found[0].prompt, 0, choices=choices)]


def ask(model: LanguageModel, asked: list[engine.Request]) -> Found:
    return [
        (done.text, done.finish, done.ids.tobytes(), done.logprobs.tobytes(), done.scores.tobytes())
        for _, done in sorted(model.generate(asked), key=lambda item: item[0])
    ]


@pytest.mark.parametrize("kv", ["float16", "int8"])
def test_nothing_but_the_request_matters(kv: str, make: Make) -> None:
    model = make(1, kv, ALONE)
    asked = requests(model)
    expected = ask(model, asked)
    for i, (_, _, ids, _, _) in enumerate(expected):
        if i % 3:  # guesses come true
            asked[i] = replace(asked[i], source=np.frombuffer(ids, np.int32))
    for threads, limits in SETTINGS:
        model = make(threads, kv, limits)
        assert ask(model, asked) == expected, (threads, limits)
        assert (model.counters.shared > 0) == limits.share
        assert (model.counters.accepted > 0) == limits.guess
