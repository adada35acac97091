"""Made-up reports with a summary of each, which says what was decided; also as a program that prints the digest of what
is learned from them."""

import hashlib
import random

import numpy as np

from pipeline.document import Parsed
from pipeline.tasks.summarize.head import SentencesHead
from pipeline.tasks.summarize.learn import SummariesMeasured, Taught, fit_sentences
from pipeline.text.sentences import split_sentences

_OTHER = ["The weather was fine on that day.", "Many people came to the hall.", "There was tea for everybody there."]


def report(number: int) -> tuple[str, str]:
    """A text, and its summary: what was decided."""
    chance = random.Random(number)
    count, what = chance.randint(2, 90), chance.choice(["flats", "roads", "schools"])
    lines = [
        *_OTHER,
        f"It was decided to build {count} new {what}.",
        f"The next meeting is in {chance.choice(['May', 'June'])} as usual.",
    ]
    chance.shuffle(lines)
    return " ".join(lines), f"Decided to build {count} new {what}"


def taught(number: int) -> Taught:
    """A report with what it teaches; the vectors of its sentences say nothing."""
    text, summary = report(number)
    sentences = split_sentences(text)
    vectors = np.random.default_rng(number).standard_normal((len(sentences), 16)).astype(np.float32)
    vectors /= np.sqrt((vectors * vectors).sum(1, keepdims=True))
    return Taught(Parsed(text, "text/plain", "test"), sentences, vectors, [summary])


def learned(count: int = 40) -> tuple[SentencesHead, SummariesMeasured]:
    """What is learned from so many reports."""
    return fit_sentences([taught(number) for number in range(count)])


def head() -> SentencesHead:
    """The head of it."""
    return learned()[0]


if __name__ == "__main__":
    print(hashlib.sha256(head().to_file().to_bytes()).hexdigest())
