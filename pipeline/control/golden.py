"""Golden texts: what a model or head answers to a few of them, as a digest that is the same on every machine.

The texts lie in models/golden/SHA256.json, named by their own digest, so that the answers can be asked for again.
"""

import hashlib
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import audit
import engine
from pipeline.control.files import HEAD, MODEL, Contents
from pipeline.errors import ModelRefusedError
from pipeline.heads import read_head
from pipeline.plan import Site
from pipeline.tasks import EMBEDDING, SEQUENCE, TASKS, TEXT, TOKENS

Progress = Callable[[str], None]
BUILT_IN: Final = (
    "The tenant pays the rent on the first of the month.",
    "Invoice 2026-17: the total of EUR 1,204.50 is due within 30 days.",
    "Either party may terminate this agreement by written notice of ninety days.",
    "Der Patient wurde am 3. März 2026 in gutem Zustand entlassen.",
    "Le contrat prend effet à la date de sa signature par les deux parties.",
    "El informe describe los daños causados por la tormenta en el almacén.",
    "Minutes of the meeting: the budget was approved, two members abstained.",
    "A",
)
_MOST_TEXTS: Final = 1_000
_WRITTEN: Final = 24  # tokens of an answer that a model writes
_CACHE_MIB: Final = 256  # for keys and values: room for a golden text on every model
_FOLDER: Final = "golden"


@dataclass(frozen=True)
class Golden:
    """Golden texts, and the digest of their file."""

    texts: tuple[str, ...]

    @property
    def data(self) -> bytes:
        """The bytes of their file: canonical JSON."""
        return audit.canonical(list(self.texts))

    @property
    def sha256(self) -> str:
        """The sha256 of their file."""
        return hashlib.sha256(self.data).hexdigest()


def check_count(texts: Sequence[str]) -> None:
    """ModelRefusedError for more texts than are asked."""
    if len(texts) > _MOST_TEXTS:
        raise ModelRefusedError(f"{len(texts):,} golden texts; at most {_MOST_TEXTS:,} are asked")


def keep_golden(site: Site, golden: Golden) -> None:
    """Put the texts where they are found again. OSError."""
    path = _path(site, golden.sha256)
    path.parent.mkdir(parents=True, exist_ok=True)
    audit.write_file_atomically(path, golden.data)


def kept_golden(site: Site, sha256: str) -> Golden | None:
    """The texts with this digest; None if they are gone, or are others now."""
    built_in = Golden(BUILT_IN)
    if built_in.sha256 == sha256:
        return built_in
    try:
        data = _path(site, sha256).read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data).hexdigest() != sha256:
        return None
    return Golden(tuple(map(str, audit.parse_canonical(data))))


def _path(site: Site, sha256: str) -> Path:
    return site.models / _FOLDER / f"{sha256}.json"


@dataclass(frozen=True)
class Answered:
    """The sha256 of the answers that a model file gave; None, with the reason `why`, if it can be asked nothing."""

    answers_sha256: str | None
    why: str = ""


def ask(contents: Contents, path: Path, sha256: str, texts: Sequence[str], progress: Progress) -> Answered:
    """Ask the model or head in `path`, which has this sha256. ModelRefusedError if it cannot be loaded, or is another
    file by now."""
    try:
        return (_ask_head if path.suffix == HEAD else _ask_model)(contents, path, sha256, texts, progress)
    except engine.EngineError as error:
        raise ModelRefusedError(f"{path} cannot be asked: {error}") from error


def _ask_model(contents: Contents, path: Path, sha256: str, texts: Sequence[str], progress: Progress) -> Answered:
    if engine.head_of(path) == TEXT:
        writer = engine.load_decoder(path, cache_mib=_CACHE_MIB, progress=progress)
        _check_same(path, sha256, writer.sha256)
        # The digest of short answers: their tokens, with the probability of each.
        prompts = (writer.prompt([{"role": "user", "content": text}]) for text in texts)
        requests = [engine.Request(prompt, _WRITTEN) for prompt in prompts]
        digest, answers = hashlib.sha256(), dict[int, Any](writer.generate(requests))
        for number in range(len(requests)):
            answer = answers[number]
            if answer.finish == "failed":
                raise ModelRefusedError(f"golden text {number + 1}: {answer.reason}")
            digest.update(struct.pack("<Q", answer.ids.size))
            digest.update(answer.ids.astype("<i4").tobytes() + answer.logprobs.astype("<f4").tobytes())
        return Answered(digest.hexdigest())
    model = engine.load(path, progress=progress)
    _check_same(path, sha256, model.sha256)
    how = _HOW.get(engine.head_of(path))
    return Answered(_digest(how(model, texts))) if how else Answered(None, "it answers questions about a text only")


_HOW: Final[dict[str, Callable[[engine.Model, Sequence[str]], NDArray[np.float32]]]] = {
    EMBEDDING: lambda model, texts: model.embed(texts),
    SEQUENCE: lambda model, texts: model.classify(texts),
    TOKENS: lambda model, texts: np.concatenate([shares.ravel() for _, shares in model.tag(texts)]),
}
"""The numbers that a model gives for texts, by the head that its file has."""


def _ask_head(contents: Contents, path: Path, sha256: str, texts: Sequence[str], progress: Progress) -> Answered:
    head = read_head(path)
    _check_same(path, sha256, head.sha256)
    kind = str(head.facts.get("kind"))
    task = TASKS.get(kind)
    if task is None or not task.learned_on:
        return Answered(None, f"heads for the task {kind} are asked with their job only")
    try:
        answers = task.head_answers(head)
        named, of = str(head.facts["model_name"]), str(head.facts["model_sha256"])
    except (ValueError, KeyError, TypeError) as error:
        raise ModelRefusedError(f"{path} is no head that can be used: {error}") from error
    if (model := contents.find(of, f"{named}{MODEL}")) is None:
        raise ModelRefusedError(f"{path} was learned on the model {named}, sha256 {of}, which no file in models/ has")
    loaded = engine.load(model, progress=progress)
    return Answered(_digest(np.concatenate([numbers.ravel() for numbers in answers(loaded, texts)])))


def _check_same(path: Path, sha256: str, found: str) -> None:
    if found != sha256:
        raise ModelRefusedError(f"{path} was replaced while it was looked at; start again")


def _digest(values: NDArray[np.float32]) -> str:
    return hashlib.sha256(values.astype("<f4").tobytes()).hexdigest()
