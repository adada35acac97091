"""Documents whose answers are known: read and answered as by a run, and refused where they were learned from."""

import gc
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import audit
from pipeline.answer.machine import give_back_freed
from pipeline.answer.models import answerer, load_model
from pipeline.document import Parsed, Row
from pipeline.inbox.order import Work
from pipeline.learn.reading import read_once
from pipeline.learn.seen import RUN, Seen, fingerprints, text_digest, words_of
from pipeline.paths.names import file_sha256
from pipeline.plan import RunPlan
from pipeline.tasks import MEASURES, Task
from pipeline.tasks.examples import Example, Mistake, refused
from pipeline.text.sentences import split_sentences

Progress = Callable[[int, int, str], None]
LEAST: Final = 8  # words of a text that is looked for as a sentence or line in another one: fewer stand anywhere
_REMEDY: Final = "leave it out of the evaluation, or learn without it"


def read_truths(source: Path, task: Task) -> Sequence[Example[Any]]:
    """The examples of a file or folder for a task. They have the form of those of `cloister learn`: a field that is
    empty or null is absent in the document, one that is not said at all is not measured there, and in JSONL a value and
    a summary may be a list, of which any is right. ExamplesRefusedError names each mistake; OSError."""
    if not task.measures:
        raise refused(str(source), "the job has another task", ", ".join(MEASURES))
    found = task.truths(source)
    if not found:
        raise refused(str(source), "no examples", "documents whose answers are known")
    return found


def eval_digest(source: Path, truths: Sequence[Example[Any]]) -> str:
    """The sha256 over the evaluation file and all documents that it names, wherever they lie."""
    own = file_sha256(source) if source.is_file() else ""
    documents = [
        [one.taught if isinstance(one.taught, str) else "", _name(one.path, source), file_sha256(one.path)]
        for one in truths
        if one.path
    ]
    return hashlib.sha256(audit.canonical([own, documents])).hexdigest()


def _name(path: Path, source: Path) -> str:
    """The path of a document from the folder of the examples, or from the root where it was given so, as text."""
    folder = source if source.is_dir() else source.parent
    told = path.relative_to(folder) if path.is_relative_to(folder) else path
    return str(told).encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass(frozen=True)
class Documents:
    """Documents with their truths, in the order of the examples; `again`: examples left out, for the same text came
    before with the same answer. `seconds`: how long it took to read those that are files, of which there are `files`.
    """

    truths: tuple[Example[Any], ...]
    works: tuple[Work, ...]
    again: int
    files: int
    seconds: float


def read_documents(plan: RunPlan, truths: Sequence[Example[Any]], progress: Progress) -> Documents:
    """Read the documents of examples. ExamplesRefusedError for those that cannot be read, that have no text, and for
    one text with two answers; MachineRefusedError where parsers cannot be held."""

    def clash(before: Example[Any], here: Example[Any]) -> Mistake:
        told = f"the text of {before.place}, with another answer"
        return Mistake(here.place, told, "one answer for a text", "remove the wrong one")

    files, begun = sum(one.path is not None for one in truths), time.perf_counter()
    found = read_once(plan, truths, clash, lambda done, total: progress(done, total, "reading documents"))
    seconds = time.perf_counter() - begun if files else 0.0
    works = tuple(work for _, work in found)
    return Documents(tuple(truth for truth, _ in found), works, len(truths) - len(found), files, seconds)


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
        yield Mistake(truth.place, why, "documents that nothing was learned from", _REMEDY)


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


@dataclass(frozen=True)
class Answered:
    """A row for each document, in order; the tokens that were computed, the seconds it took without loading the model,
    and the greatest memory of this process in bytes while it did (pages of the model file among them; None where the
    system does not tell)."""

    rows: tuple[Row, ...]
    tokens: int
    seconds: float
    peak_bytes: int | None


def answer(plan: RunPlan, model_sha256: str, works: Sequence[Work], progress: Progress) -> Answered:
    """Answer the documents as a run of the plan does. ModelRefusedError."""
    give_back_freed()
    gc.collect()  # what was loaded before is no part of this model's memory
    told = _reset_peak()
    model = load_model(plan, model_sha256, lambda fact: progress(0, len(works), fact))
    answers = answerer(plan, model)
    rows = list[Row]()
    begun = time.perf_counter()
    review = plan.input.hidden == "review"
    for group in answers(works, lambda done, total: None, review_hidden=review):
        rows += [row for _, row in group if row is not None]
        progress(len(rows), len(works), f"answering on {plan.model.name}")
    seconds = time.perf_counter() - begun
    tokens = sum(row.tokens or 0 for row in rows)
    return Answered(tuple(rows), tokens, seconds, _peak() if told else None)


def _reset_peak() -> bool:
    """Let the system begin anew to count the greatest memory of this process (proc(5), clear_refs); whether it does."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _peak() -> int | None:
    """VmHWM: the greatest resident memory in bytes, of proc(5), status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return 1024 * int(line.split()[1])
    return None
