"""Evaluation documents are read as a run reads documents: by the same parsers, within the same limits."""

import contextlib
import hashlib
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import engine
from pipeline.document import Parsed
from pipeline.inbox.intake import Arrival
from pipeline.inbox.order import Ended, Outcome, Room
from pipeline.inbox.parsers import open_parsers, unconfined
from pipeline.inbox.reader import Reader
from pipeline.inbox.rows import Work
from pipeline.learn.examples import ExamplesRefusedError, Mistake
from pipeline.parse import Tesseract, find_tesseract
from pipeline.paths.digest import file_sha256
from pipeline.plan import RunPlan
from pipeline.quality.truths import Truth

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Given(Arrival):
    """A document that stays where its examples are."""

    file: Path = Path()

    def staged(self, archive: Path) -> Path:
        """The file of its bytes."""
        return self.file


@dataclass(frozen=True)
class Documents:
    """Documents with their truths, in the order of the examples; `again`: examples left out, for the same text came
    before with the same answer. `seconds`: how long it took to read those that are files, of which there are `files`.
    """

    truths: tuple[Truth, ...]
    works: tuple[Work, ...]
    again: int
    files: int
    seconds: float


def read_documents(plan: RunPlan, truths: Sequence[Truth], progress: Progress) -> Documents:
    """Read the documents of examples. ExamplesRefusedError for those that cannot be read, that have no text, and for
    one text with two answers; MachineRefusedError where parsers cannot be held."""
    files = sum(one.example.path is not None for one in truths)
    begun = time.perf_counter()
    with _reader(plan) if files else contextlib.nullcontext() as read:
        threads = ThreadPoolExecutor(engine.threads(), "parse")
        with threads:
            outcomes = list(_counted(threads.map(lambda one: _read(one, read), truths), len(truths), progress))
    seconds = time.perf_counter() - begun
    mistakes, first, works = list[Mistake](), dict[str, int](), dict[int, Work]()
    for number, (truth, outcome) in enumerate(zip(truths, outcomes, strict=True)):
        if isinstance(outcome, Mistake):
            mistakes.append(outcome)
            continue
        before = first.setdefault(outcome.parsed.text_sha256, number)
        if before == number:
            works[number] = outcome
        elif truths[before].said != truth.said:
            told = f"the text of {truths[before].example.place}, with another answer"
            mistakes.append(Mistake(truth.example.place, told, "one answer for a text", "remove the wrong one"))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    kept = tuple(truths[number] for number in works)
    return Documents(kept, tuple(works.values()), len(truths) - len(works), files, seconds if files else 0.0)


def _counted(outcomes: Iterator[Work | Mistake], total: int, progress: Progress) -> Iterator[Work | Mistake]:
    for done, outcome in enumerate(outcomes, 1):
        progress(done, total, "reading documents")
        yield outcome


def _read(truth: Truth, read: Callable[[Arrival], Outcome] | None) -> Work | Mistake:
    example = truth.example
    if example.path is None:
        return _plain(example.place, example.text or "")
    assert read is not None
    path = example.path
    sha256 = file_sha256(path)
    item = read(Given(path.name, str(path), path.stat().st_size, sha256, file=path)).item
    if isinstance(item, Ended):
        remedy = item.failure.remedy if item.failure else None
        return Mistake(example.place, item.reason or "it cannot be read", remedy=remedy)
    if not item.parsed.text.strip():
        return Mistake(example.place, "a document without text")
    return item


def _plain(place: str, text: str) -> Work | Mistake:
    """A text that stands in the file of examples, with line ends as parsers give them."""
    text = "\n".join(line.rstrip() for line in text.split("\n")).strip()
    if not text:
        return Mistake(place, "a text that says nothing")
    data = text.encode()
    arrival = Arrival(place, place, len(data), hashlib.sha256(data).hexdigest())
    return Work(arrival, Parsed(text, "text/plain", "example"), 0.0)


@contextlib.contextmanager
def _reader(plan: RunPlan) -> Iterator[Callable[[Arrival], Outcome]]:
    """Open a reader of documents that reads as a run of the plan does; what they hold is unpacked below state/, and
    left out."""
    limits, site = plan.site.limits, plan.site
    room = Room(limits.unpacked_documents, limits.unpacked_bytes)
    site.state.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="qualify-", dir=site.state) as scratch:
        plan = replace(plan, site=replace(site, root=Path(scratch)))
        (plan.archive / ".staging").mkdir(parents=True)
        found = find_tesseract(plan.input.ocr.languages) if plan.input.ocr.enabled else None
        with open_parsers(site, engine.threads()) as pool:
            tesseract = found if isinstance(found, Tesseract) and not unconfined(site, pool) else None
            reader = Reader(plan, pool, pool.reader(tesseract) if tesseract else None)

            def read(arrival: Arrival) -> Outcome:
                outcome = reader(arrival, room, time.perf_counter())
                if outcome.file is not None:
                    outcome.file.close()
                return outcome

            yield read
