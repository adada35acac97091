"""Documents of the evaluation that were learned from: what is measured on them would flatter, so they are refused."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pipeline.document import Parsed
from pipeline.learn.examples import Mistake
from pipeline.learn.seen import RUN, Seen, examples_of, fingerprints, text_digest, words_of
from pipeline.quality.reading import Documents
from pipeline.tasks import Task
from pipeline.text.sentences import split_sentences

LEAST: Final = 8  # words of a text that is looked for as a sentence or line in another one: fewer stand anywhere
_REMEDY: Final = "leave it out of the evaluation, or learn without it"


def seen_by_task(task: Task) -> Seen | None:
    """The texts that the job itself has as examples of labels; None for none."""
    texts = examples_of(task)
    return Seen.of(texts) if texts else None


def overlaps(documents: Documents, seen: Seen, whose: str) -> Iterator[Mistake]:
    """Yield a mistake for each document that is one of the texts which `whose` knows, stands in one, or holds one."""
    digests = frozenset(seen.texts)
    starts = np.concatenate([[0], np.cumsum(seen.sizes)[:-1]]).astype(np.int64) if seen.sizes.size else None
    for truth, work in zip(documents.truths, documents.works, strict=True):
        words = words_of(work.parsed.text)
        if text_digest(words) in digests:
            why = f"its text is one of {whose}"
        elif (starts is not None and _nested(words, seen, starts)) or _holds(work.parsed, digests):
            why = f"it stands in one of {whose}, or one of them in it"
        else:
            continue
        yield Mistake(truth.example.place, why, "documents that nothing was learned from", _REMEDY)


def _nested(words: Sequence[str], seen: Seen, starts: NDArray[np.int64]) -> bool:
    """Whether all fingerprints of the document are among those of one known text, or the other way round; texts of
    less than RUN words have none."""
    if len(words) < RUN:
        return False
    own = fingerprints(words)
    common = np.add.reduceat(np.isin(seen.windows, own).astype(np.int64), starts)
    return bool((common == own.size).any() or (common == seen.sizes).any())


def _holds(document: Parsed, digests: frozenset[str]) -> bool:
    """Whether a sentence or a line of the document is a known text."""
    text = document.text
    pieces = [*(text[span.start : span.end] for span in split_sentences(text)), *text.split("\n")]
    found = (words_of(piece) for piece in pieces)
    return any(len(words) >= LEAST and text_digest(words) in digests for words in found)
