"""The head of an encoder, as the metadata of its file says it. engine/MODELS.md has the keys."""

from dataclasses import dataclass
from typing import Literal, cast, get_args

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import GgufFile

Kind = Literal["embedding", "sequence", "tokens", "span"]
KINDS: tuple[Kind, ...] = get_args(Kind)
EACH_TOKEN, MEAN, FIRST = 0, 1, 2  # llama.cpp's numbers of pooling types
POOLINGS = f"{MEAN} (mean) or {FIRST} (first token)"
ACTIVATIONS = ("tanh", "gelu")
SCORES = ("softmax", "sigmoid", "none")
MAX_LABELS = 65_536
MAX_PROMPT = 1000  # characters
_BETWEEN = ("cls.weight", "cls.norm.weight")


@dataclass(frozen=True)
class Head:
    """The metadata of a head."""

    kind: Kind
    pooling: int  # EACH_TOKEN for heads that look at each token
    normalized: bool = False  # embedding: whether vectors have length 1
    query: str = ""  # embedding: what the model was trained to read before a question, and before other texts
    document: str = ""
    unrelated: float = 0.0  # embedding: the cosine of two texts that have nothing to do with each other
    labels: tuple[str, ...] = ()  # of the outputs, in order; an embedding has none
    scores: str = "softmax"  # what makes scores of the outputs
    activation: str | None = None  # between the two matrices of a head that has two


def read_head(file: GgufFile, architecture: str) -> Head:
    """The head of a model file. Raises BadModelFile and UnsupportedModel."""
    kind = file.metadata.get("cloister.head", "embedding")
    if kind not in KINDS:
        raise UnsupportedModel(f"{file.path}: cloister.head: found {kind!r:.60}, expected one of {', '.join(KINDS)}")
    if kind == "embedding":
        pooling = _pooling(file, f"{architecture}.pooling_type")
        normalized = "cloister.normalize" not in file.metadata or file.require("cloister.normalize", bool)
        query, document = (_prompt(file, f"cloister.prompt.{role}") for role in ("query", "document"))
        unrelated = _unrelated(file)
        return Head("embedding", pooling, normalized=normalized, query=query, document=document, unrelated=unrelated)
    labels = file.require(f"{architecture}.classifier.output_labels", list)
    if not 1 <= len(labels) <= MAX_LABELS or (kind == "span" and len(labels) != 2):
        expected = "2" if kind == "span" else f"1 to {MAX_LABELS}"
        where = f"{file.path}: {architecture}.classifier.output_labels"
        raise BadModelFile(f"{where}: found {len(labels)}, expected {expected}")
    is_sequence = kind == "sequence"
    return Head(
        cast(Kind, kind),
        _pooling(file, f"{architecture}.classifier.pooling_type") if is_sequence else EACH_TOKEN,
        labels=tuple(labels),
        scores=_choice(file, "cloister.head.scores", SCORES) if is_sequence else "softmax",
        activation=_choice(file, "cloister.head.activation", ACTIVATIONS) if _is_deep(file) else None,
    )


def _is_deep(file: GgufFile) -> bool:
    """Whether there are two matrices, with something between them."""
    return "cloister.head.activation" in file.metadata or not file.tensors.keys().isdisjoint(_BETWEEN)


def _pooling(file: GgufFile, key: str) -> int:
    pooling = file.require(key, int)
    if pooling not in (MEAN, FIRST):
        raise UnsupportedModel(f"{file.path}: {key}: found the pooling type {pooling}, expected {POOLINGS}")
    return pooling


def _prompt(file: GgufFile, key: str) -> str:
    found = file.require(key, str) if key in file.metadata else ""
    if len(found) > MAX_PROMPT:
        raise BadModelFile(f"{file.path}: {key}: found {len(found)} characters, expected at most {MAX_PROMPT}")
    return found


def _unrelated(file: GgufFile) -> float:
    key = "cloister.similarity.unrelated"
    found = file.require(key, float) if key in file.metadata else 0.0
    if not -1 < found < 1:
        raise BadModelFile(f"{file.path}: {key}: found {found}, expected a number between -1 and 1")
    return found


def _choice(file: GgufFile, key: str, known: tuple[str, ...]) -> str:
    value = file.require(key, str)
    if value not in known:
        raise UnsupportedModel(f"{file.path}: {key}: found {value!r:.60}, expected one of {', '.join(known)}")
    return value
