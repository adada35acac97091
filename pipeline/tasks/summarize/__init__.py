"""Summarize: the sentences that say most of a document, each with the passages on which it rests.

On a model that embeds: the sentences nearest to what the whole document says, in its order, without saying a thing
twice. They are chosen one by one: the next is the one with the best score less 0.3 of its likeness to the most similar
sentence chosen already (maximal marginal relevance, Carbonell and Goldstein 1998). The score is the cosine to the mean
of all sentences, plus up to 0.2 for standing early, plus 0.2 for words such as "in this paper" or "in summary", all
divided by 1.4. Headings, rows, addresses and page furniture are not chosen while there are sentences.
pipeline/DECISIONS.md has the measurements.

With a head that was learned from examples (`cloister learn`), the score is the ROUGE-L that the sentence is expected to
have with a summary that a person would write.

On a model that writes: sentences in its own words. The document is given in numbered passages, and the model writes as
it would to a person: JSON around prose makes small models write nothing, or without end. It is then asked on which
passages each of its sentences rests; other numbers cannot be written. What does not fit is summarized in windows, and
the sentences of these are passages for a summary of them, as often as needed; a sentence then rests on all that its
passages rest on. A model that says the same sentences again and again is stopped, and each of them stands once.
Sentences beyond the length that was asked for are left out, from the end; the first one stays however long it is. The
score is how sure the model was of its words.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Final

import pyarrow as pa

from pipeline.document import Row
from pipeline.heads import HeadFile
from pipeline.tasks.base import EVIDENCE, HeadAnswers, Line, Task
from pipeline.tasks.correcting import ReviewRefusedError, only
from pipeline.tasks.examples import Example, Lesson, Reads
from pipeline.tasks.features import read_as
from pipeline.tasks.judging import Judge
from pipeline.tasks.kinds import EMBEDDING, Embedder, Writer, Writing
from pipeline.tasks.settings import Key, SettingsError
from pipeline.tasks.summarize.answers import ByChoosing, scores
from pipeline.tasks.summarize.head import SentencesHead, scores_of
from pipeline.tasks.summarize.judge import judge
from pipeline.tasks.summarize.learn import SummaryLesson, read_summaries
from pipeline.tasks.summarize.written import WrittenSummary, counted

REDUNDANCY: Final = 0.3 / 1.4  # the weight of likeness to what is chosen already: scores are divided by 1.4
LEARNED_REDUNDANCY: Final = 0.1  # the same beside learned scores, of which few are above 0.5

SENTENCE: Final = pa.struct(
    [
        ("text", pa.string()),
        ("score", pa.float64()),
        ("page", pa.int32()),
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("passages", pa.list_(EVIDENCE)),
    ]
)

MOST: Final = 65_536  # characters of a summary that a person gives


@dataclass(frozen=True)
class SummarizeSettings(Task):
    """The sentences of each document that say most; either `sentences` or `words`."""

    sentences: Annotated[int | None, Key("how many sentences, instead of words", least=1, most=1000)] = None
    words: Annotated[int | None, Key("at most so many words, instead of sentences", least=1, most=100_000)] = None

    unreviewed: ClassVar[str | None] = None
    purpose: ClassVar[str] = "the sentences that say most, in their order"
    texts: ClassVar[tuple[str, ...]] = ("summary",)
    learned_on: ClassVar[tuple[str, ...]] = (EMBEDDING,)
    figures: ClassVar[Mapping[str, str]] = MappingProxyType(
        {
            "rouge_1": "ROUGE-1",
            "rouge_2": "ROUGE-2",
            "rouge_l": "ROUGE-L",
            "lead_rouge_1": "ROUGE-1 of the first sentences",
            "lead_rouge_2": "ROUGE-2 of the first sentences",
            "lead_rouge_l": "ROUGE-L of the first sentences",
            "oracle_rouge_1": "ROUGE-1 that an extract can reach",
            "oracle_rouge_2": "ROUGE-2 that an extract can reach",
            "oracle_rouge_l": "ROUGE-L that an extract can reach",
            "over_lead": "ROUGE-L above that of the first sentences",
        }
    )
    measures: ClassVar[tuple[str, ...]] = ("rouge_l", "rouge_1", "rouge_2", "over_lead")
    columns: ClassVar[tuple[pa.Field, ...]] = (
        pa.field("summary", pa.string()),
        pa.field("sentences", pa.list_(SENTENCE)),
    )

    def check(self) -> None:
        if (self.sentences is None) == (self.words is None):
            found = "neither 'sentences' nor 'words'" if self.words is None else "both 'sentences' and 'words'"
            at = () if self.words is None else ("words",)
            raise SettingsError(found, "one of the two", "such as sentences: 5", at)

    def in_words(self) -> str:
        said = counted(self.sentences, "sentence") if self.sentences else counted(self.words or 0, "word")
        return f"summarize in {said}"

    def on_embedding(self, model: Embedder) -> ByChoosing:
        return ByChoosing(self._fits, model, REDUNDANCY, scores)

    def check_head(self, head: HeadFile) -> None:
        read_as(SentencesHead.from_file, head)

    def on_head(self, model: Embedder, head: HeadFile) -> ByChoosing:
        return ByChoosing(self._fits, model, LEARNED_REDUNDANCY, read_as(SentencesHead.from_file, head).scores)

    def _fits(self, sentences: int, words: int) -> bool:
        return words <= (self.words or 0) if self.sentences is None else sentences <= self.sentences

    def on_writing(self, model: Writer, writing: Writing) -> WrittenSummary:
        return WrittenSummary(self.sentences, self.words, model, writing)

    def lesson(self, source: Path, read: Reads, writing: Writing | None, *, skip: bool) -> Lesson[Any]:
        return SummaryLesson.of(source, read)

    @classmethod
    def head_answers(cls, head: HeadFile) -> HeadAnswers:
        return partial(scores_of, SentencesHead.from_file(head))

    def truths(self, source: Path) -> Sequence[Example[Any]]:
        return read_summaries(source)

    def judge(self, truths: Sequence[Example[Any]], texts: Sequence[str]) -> Judge:
        return judge(self.sentences, self.words, [truth.taught for truth in truths], texts)

    def correct(self, row: Row, text: str | None, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        summary = only(answer, "summary")
        if not isinstance(summary, str) or not summary.strip():
            raise ReviewRefusedError("the summary is empty: reject the row where there is none")
        if (size := len(summary)) > MOST:
            raise ReviewRefusedError(f"the summary has {size:,} characters; at most {MOST:,} are taken")
        if summary.strip() == row.get("summary"):
            return {"summary": row["summary"]}
        return {"summary": summary.strip(), "sentences": [], "evidence": []}

    def taught(self, row: Row, *, placed: bool) -> Mapping[str, Any] | None:
        return {"summary": row["summary"]} if row["summary"] else None

    @classmethod
    def lines(cls, row: Row) -> Iterator[Line]:
        if row.get("summary"):
            yield Line(row["summary"])
