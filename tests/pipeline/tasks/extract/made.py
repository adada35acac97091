"""Made-up letters with a deadline and a person, in other words each time; also as a program that prints the digest of
what is learned from them."""

import hashlib
import random

import numpy as np

from pipeline.document import Parsed, Span
from pipeline.tasks.extract.fit import Answer, Learned, Taught, learn
from pipeline.tasks.extract.head import FieldsHead, Sought
from pipeline.tasks.extract.learn import head_of
from pipeline.text.sentences import split_sentences

FIELDS = (Sought("person", "text"), Sought("due", "date"))
MEANINGS = np.eye(2, 16, dtype=np.float32)
_NAMES = ["Ada Stone", "Ben Field", "Cleo Marsh", "Dora Hill", "Emil Wood", "Fay Brook", "Gus Lake", "Ida Glen"]
_FILLING = ["It rained in Bath.", "The shop in York was shut.", "We met at noon.", "Tea was served by Max Pool."]


def letter(number: int) -> tuple[str, dict[str, str]]:
    """A letter, and the values of its fields; one in four has no deadline."""
    chance = random.Random(number)
    person, day, other = chance.choice(_NAMES), chance.randint(1, 28), chance.randint(1, 28)
    lines = [chance.choice(_FILLING), f"We wrote to you on {other} June 2025.", f"Please answer to {person} soon."]
    values = {"person": person}
    if number % 4:
        lines.append(f"The deadline is {day} March 2026.")
        values["due"] = f"2026-03-{day:02}"
    chance.shuffle(lines)
    return "\n\n".join(lines) + "\n", values


def taught(number: int) -> Taught:
    """A letter with what it teaches, and vectors that say which words its passages have."""
    text, values = letter(number)
    passages = split_sentences(text)
    vectors = np.stack([_vector(text, span) for span in passages])
    answers = [[Answer(values[field.name])] if field.name in values else [] for field in FIELDS]
    return Taught(Parsed(text, "text/plain", "test"), passages, vectors, answers)


def _vector(text: str, span: Span) -> np.ndarray:
    out = np.zeros(16, np.float32)
    for word in text[span.start : span.end].split():
        out[int(hashlib.sha256(word.encode()).hexdigest(), 16) % 16] += 1
    return (out / np.sqrt((out * out).sum())).astype(np.float32)


def learned(count: int = 24) -> Learned:
    """What is learned from so many letters."""
    return learn([taught(number) for number in range(count)], FIELDS, MEANINGS)


def head(count: int = 24) -> FieldsHead:
    """The head that is learned from so many letters."""
    return learned(count).head


if __name__ == "__main__":
    print(hashlib.sha256(head_of(learned()).to_bytes()).hexdigest())
