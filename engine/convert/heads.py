"""Heads of encoders: pooling for embeddings, or a classifier of texts, of tokens, or of the ends of an answer.

llama.cpp's keys and tensor names where it has them (`cls`, `cls.norm`, `cls.output`, `{arch}.classifier.output_labels`,
`{arch}.classifier.pooling_type`), ours under `cloister.head` where it has none. MODELS.md has the table.
"""

from typing import Any

from engine.convert import sentence
from engine.convert.base import HeadLayout, ModelType, Source, affine
from engine.convert.folder import SourceFolder
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue

EMBEDDING = "embedding"
ENDINGS = {"ForSequenceClassification": "sequence", "ForTokenClassification": "tokens", "ForQuestionAnswering": "span"}

# llama.cpp's numbers of ways of pooling
NONE, MEAN, FIRST, RANK = 0, 1, 2, 4
POOLING = {"cls": FIRST, "mean": MEAN}

SPAN_LABELS = ["start", "end"]
MAX_LABELS = 65_536
MAX_LABEL_CHARS = 512

# how sentence-transformers names what a cross-encoder's outputs go through
ACTIVATIONS = {"Sigmoid": "sigmoid", "Identity": "none"}


def kind_of(folder: SourceFolder, config: dict[str, Any]) -> str:
    """sentence-transformers' modules come first: with them a model gives embeddings."""
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""
    if folder.has("modules.json"):
        return EMBEDDING
    return next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), EMBEDDING)


def read_metadata(
    folder: SourceFolder, config: dict[str, Any], model: ModelType, sizes: dict[str, MetadataValue]
) -> dict[str, MetadataValue]:
    """The keys of the head; `sizes` are the architecture's. Raises BadModelFile, or UnsupportedModel for a head that
    would be computed wrongly."""
    kind, arch = kind_of(folder, config), model.ARCHITECTURE
    width, context = (_number(sizes[f"{arch}.{name}_length"]) for name in ("embedding", "context"))
    if kind == EMBEDDING:
        settings = sentence.read(folder, width)
        return {
            f"{arch}.pooling_type": settings.pooling,
            "cloister.head": kind,
            "cloister.normalize": settings.normalize,
            "cloister.max_seq_length": min(context, settings.max_tokens or context),
            **{f"cloister.prompt.{role}": text for role, text in settings.prompts.items()},
        }
    if kind not in model.HEADS:
        expected = f"{EMBEDDING}, {', '.join(model.HEADS)}"
        raise UnsupportedModel(f"{folder.path}/config.json: head: found {kind!r}, expected one of {expected}")
    layout, labels = model.HEADS[kind], read_labels(folder, config)
    if kind == "span" and len(labels) != len(SPAN_LABELS):
        raise UnsupportedModel(f"{folder.path}/config.json: num_labels: found {len(labels)}, expected 2 (start, end)")
    return {
        f"{arch}.pooling_type": RANK if kind == "sequence" else NONE,
        f"{arch}.classifier.output_labels": SPAN_LABELS if kind == "span" else labels,
        **(_of_sequence(folder, config, arch, len(labels)) if kind == "sequence" else {}),
        "cloister.head": kind,
        **({"cloister.head.activation": layout.activation} if layout.activation else {}),
        "cloister.max_seq_length": context,
    }


def tensors(folder: SourceFolder, config: dict[str, Any], model: ModelType) -> dict[str, Source]:
    """Name in the GGUF file -> source, for the head."""
    kind = kind_of(folder, config)
    if kind == EMBEDDING:
        return {}
    layout = model.HEADS[kind]
    width = model.tensors(config)["token_embd.weight"].shape[1]
    found = affine("cls.output", layout.output, (len(read_labels(folder, config)), width))
    if layout.norm:
        found = affine("cls.norm", layout.norm, (width,), bias=_has(config, layout.norm_bias)) | found
    if layout.dense:
        found = affine("cls", layout.dense, (width, width), bias=_has(config, layout.dense_bias)) | found
    return found


def uses(layout: HeadLayout | None, name: str) -> bool:
    """Whether a tensor of the source is the head's, though models without the head ignore it."""
    parts = (layout.output, layout.dense, layout.norm) if layout else ()
    return any(part is not None and name.startswith(f"{part}.") for part in parts)


def read_labels(folder: SourceFolder, config: dict[str, Any]) -> list[str]:
    """The names of the outputs, in their order. Raises BadModelFile."""
    where = f"{folder.path}/config.json: id2label"
    names = config.get("id2label")
    if names is None:
        count = config.get("num_labels", 2)
        if type(count) is not int or not 1 <= count <= MAX_LABELS:
            raise BadModelFile(f"{where}: found none and num_labels {count!r:.40}, expected 1 to {MAX_LABELS}")
        return [f"LABEL_{number}" for number in range(count)]
    if not isinstance(names, dict) or not 1 <= len(names) <= MAX_LABELS:
        raise BadModelFile(f"{where}: found {names!r:.80}, expected 1 to {MAX_LABELS} labels")
    labels = [names.get(str(number)) for number in range(len(names))]
    if not all(isinstance(label, str) and label.isprintable() and len(label) <= MAX_LABEL_CHARS for label in labels):
        expected = f"ids from 0 on, and printable labels of up to {MAX_LABEL_CHARS} characters"
        raise BadModelFile(f"{where}: found {names!r:.120}, expected {expected}")
    return [str(label) for label in labels]


def _of_sequence(folder: SourceFolder, config: dict[str, Any], arch: str, labels: int) -> dict[str, MetadataValue]:
    pooling = config.get("classifier_pooling", "cls")
    if not isinstance(pooling, str) or pooling not in POOLING:
        found = f"found {pooling!r:.40}, expected {' or '.join(POOLING)}"
        raise UnsupportedModel(f"{folder.path}/config.json: classifier_pooling: {found}")
    scores = _scores(folder, config, labels)
    return {f"{arch}.classifier.pooling_type": POOLING[pooling], "cloister.head.scores": scores}


def _scores(folder: SourceFolder, config: dict[str, Any], labels: int) -> str:
    """The function that makes scores of the outputs: the one a cross-encoder names, else that of transformers'
    pipelines."""
    where = f"{folder.path}/config.json"
    settings = config.get("sentence_transformers")
    newer = settings.get("activation_fn") if isinstance(settings, dict) else None
    activation = newer or config.get("sbert_ce_default_activation_function")
    if activation is not None:
        name = activation.rpartition(".")[2] if isinstance(activation, str) else ""
        if name not in ACTIVATIONS:
            expected = " or ".join(ACTIVATIONS)
            raise UnsupportedModel(f"{where}: activation_fn: found {activation!r:.80}, expected {expected}")
        return ACTIVATIONS[name]
    problem = config.get("problem_type")
    known = {None: "softmax" if labels > 1 else "sigmoid", "regression": "none",
             "single_label_classification": "softmax", "multi_label_classification": "sigmoid"}  # fmt: skip
    if not isinstance(problem, str | None) or problem not in known:
        raise UnsupportedModel(f"{where}: problem_type: found {problem!r:.40}, expected one of {list(known)}")
    return known[problem]


def _number(value: MetadataValue) -> int:
    if not isinstance(value, int):
        raise AssertionError(f"found {value!r}, expected a number")
    return value


def _has(config: dict[str, Any], flag: str | None) -> bool:
    return flag is None or bool(config.get(flag, False))
