"""Examples are read as documents of the job are read: the same parsers, the same passages, the same vectors."""

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import engine
from pipeline.document import Parsed
from pipeline.inbox.intake import Kept
from pipeline.inbox.order import Ended, Room, Work
from pipeline.inbox.reader import Reader, ReadHere, open_parsers, recognizer
from pipeline.plan import RunPlan
from pipeline.tasks.examples import Example, ExamplesRefusedError, Mistake, Progress, Read, Taught


def read_documents(
    plan: RunPlan, examples: Sequence[Example[Taught]], told: Callable[[Taught], str], progress: Progress
) -> list[Read[Taught]]:
    """The examples with their texts, as `read_once`; what a text teaches is `told` to a person."""

    def clash(before: Example[Taught], here: Example[Taught]) -> Mistake:
        what = f"the text of {before.place}, there with {told(before.taught)}, here with {told(here.taught)}"
        return Mistake(here.place, what, "a text teaches one thing", "remove the wrong one")

    return [Read(example, work.parsed) for example, work in read_once(plan, examples, clash, progress)]


def read_once(
    plan: RunPlan,
    examples: Sequence[Example[Taught]],
    clash: Callable[[Example[Taught], Example[Taught]], Mistake],
    progress: Progress,
) -> list[tuple[Example[Taught], Work]]:
    """The examples with their documents; of the same text that teaches the same only the first. ExamplesRefusedError
    for documents that cannot be read, and for one text that teaches two things, of which `clash` makes the mistake;
    MachineRefusedError."""
    mistakes, found = list[Mistake](), dict[str, tuple[Example[Taught], Work]]()
    for count, (here, item) in enumerate(zip(examples, read_all(plan, examples), strict=True), 1):
        progress(count, len(examples))
        if isinstance(item, Mistake):
            mistakes.append(item)
            continue
        before, _ = found.setdefault(item.parsed.text_sha256, (here, item))
        if before.taught != here.taught:
            mistakes.append(clash(before, here))
    if mistakes:
        raise ExamplesRefusedError(mistakes)
    return list(found.values())


def read_all(plan: RunPlan, examples: Sequence[Example[Any]]) -> Iterator[Work | Mistake]:
    """Read the documents of examples, in their order, on as many parsers as there are threads; a mistake for one that
    cannot be read or says nothing. MachineRefusedError."""
    workers = engine.threads()
    files = any(one.path for one in examples)
    opened = open_reader(plan, workers) if files else contextlib.nullcontext()
    with opened as read, ThreadPoolExecutor(workers, "parse") as threads:
        yield from threads.map(lambda one: _read(one, read), examples)


def _read(example: Example[Any], read: "Callable[[str, Path], Work | Ended] | None") -> Work | Mistake:
    place, path = example.place, example.path
    if read is None or path is None:
        work = work_of(place, example.text or "")
        return work if work.parsed.text else Mistake(place, "a text that says nothing")
    try:
        item = read(place, path)
    except OSError as error:
        remedy = "allow the user who runs cloister to read it"
        return Mistake(place, f"{path} cannot be read: {error.strerror}", remedy=remedy)
    if isinstance(item, Ended):
        return Mistake(place, item.reason or "it cannot be read", remedy=item.failure.remedy if item.failure else None)
    return item if item.parsed.text.strip() else Mistake(place, "a document without text")


@contextlib.contextmanager
def open_reader(plan: RunPlan, workers: int) -> Iterator[Callable[[str, Path], Work | Ended]]:
    """Open what reads a file as a run of the plan reads a document, under the path that it is told, and keeps nothing;
    what is in it is unpacked below state/, and left out. MachineRefusedError; the reader raises OSError."""
    site, limits, at_rest = plan.site, plan.site.limits, plan.site.at_rest
    site.state.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="reading-", dir=site.state) as scratch:
        plan = replace(plan, site=replace(site, root=Path(scratch)))
        (plan.archive / ".staging").mkdir(parents=True)
        with open_parsers(site, workers) as pool:
            tesseract, why = recognizer(plan, pool)
            reader = Reader(plan, ReadHere(pool, pool.reader(tesseract) if tesseract else None), why)

            def read(told: str, file: Path) -> Work | Ended:
                arrival = Kept(told, file.name, at_rest.size(file), at_rest.sha256(file), file=file)
                outcome = reader(arrival, Room(limits.unpacked_documents, limits.unpacked_bytes))
                if outcome.file is not None:
                    outcome.file.close()
                return outcome.item

            yield read


def work_of(told: str, text: str) -> Work:
    """A text that stands in a file of examples, with line ends as parsers give them."""
    text = "\n".join(line.rstrip() for line in text.split("\n")).strip()
    data = text.encode()
    return Work(Kept(told, told, len(data), hashlib.sha256(data).hexdigest()), Parsed(text, "text/plain", "example"), 0)
