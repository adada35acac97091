"""Count: the words of a document by language, in the passages whose language is clear."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from pipeline.document import Parsed, Span
from pipeline.tasks.base import Answer, Task
from pipeline.tasks.kinds import EMBEDDING, Embedder
from pipeline.tasks.passages import passages
from pipeline.tasks.settings import Key, SettingsError, Text
from pipeline.text.language import language

LANGUAGE = pa.struct([("language", pa.string()), ("words", pa.int64())])


@dataclass(frozen=True)
class CountSettings(Task):
    """The words of each document, by language."""

    languages: Annotated[tuple[Text, ...], Key("codes of the languages to count, such as en; all if left out")] = ()
    least: Annotated[int, Key("a language with fewer words is left out", least=1, most=1000)] = 1

    purpose: ClassVar[str] = "the number of words in each language"
    needs: ClassVar[str | None] = EMBEDDING
    columns: ClassVar[tuple[pa.Field, ...]] = (pa.field("languages", pa.list_(LANGUAGE)),)

    def check(self) -> None:
        for index, code in enumerate(self.languages):
            if not re.fullmatch("[a-z]{2}", code):
                raise SettingsError(f"the language {code!r}", "two letters, such as en", at=("languages", index))

    def in_words(self) -> str:
        return f"count words in {', '.join(self.languages) or 'every language'}"

    def on_embedding(self, model: Embedder) -> "_Counting":
        return _Counting(self, model)


class _Counting:
    """The task on a model that embeds, which it needs for its passages alone."""

    def __init__(self, settings: CountSettings, model: Embedder) -> None:
        self._settings, self._model = settings, model

    def spans(self, document: Parsed) -> list[Span]:
        return passages(document, self._model)

    def answer(self, document: Parsed, spans: Sequence[Span], vectors: NDArray[np.float32]) -> Answer:
        words, first = Counter[str](), dict[str, Span]()
        for span in spans:
            text = document.text[span.start : span.end]
            code = language(text)
            if code and code in (self._settings.languages or (code,)):
                words[code] += len(text.split())
                first.setdefault(code, span)
        found = sorted(code for code, number in words.items() if number >= self._settings.least)
        return Answer(
            columns={"languages": [{"language": code, "words": words[code]} for code in found]},
            evidence=[document.evidence(first[code].start, first[code].end) for code in found],
            abstained=not found,
            reason=None if found else "no passage is in one of the languages",
        )
