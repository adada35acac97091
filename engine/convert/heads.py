"""Heads of encoders: pooling for embeddings, or a classifier of texts, of tokens, or of the ends of an answer.

llama.cpp's keys and tensor names where it has them (`cls`, `cls.norm`, `cls.output`, `{arch}.classifier.output_labels`,
`{arch}.classifier.pooling_type`), ours under `cloister.head` where it has none. MODELS.md has the table.
"""

from dataclasses import dataclass
from typing import Any

from engine.convert.base import HeadLayout, ModelType, Source, affine
from engine.convert.folder import SourceFolder, as_dict
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
        settings = read_sentence(folder, width)
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


# pooling mode of 1_Pooling/config.json -> llama.cpp's number of it (enum llama_pooling_type)
_MODES = {"pooling_mode_mean_tokens": 1, "pooling_mode_cls_token": 2}
MAX_PROMPT = 1000  # characters

# role -> names of it in `prompts`, the first that is there, as in sentence-transformers' encode_query, encode_document
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}


@dataclass(frozen=True)
class SentenceSettings:
    """pooling: llama.cpp's number; normalize: divide by the Euclidean length; max_tokens: special tokens included;
    prompts: what stands before a `query` and before a `document`, where that is anything."""

    pooling: int
    normalize: bool
    max_tokens: int | None
    prompts: dict[str, str]


def read_sentence(folder: SourceFolder, width: int) -> SentenceSettings:
    """The settings beside an encoder of this width. Raises UnsupportedModel for steps that the engine does not do."""
    modules = _module_paths(folder)
    pooling = _read_pooling(folder, f"{modules['Pooling']}/config.json".lstrip("/"), width)
    limit = folder.json_object("sentence_bert_config.json") if folder.has("sentence_bert_config.json") else {}
    max_tokens = limit.get("max_seq_length")
    if max_tokens is not None and (type(max_tokens) is not int or max_tokens < 3):
        raise BadModelFile(f"{folder.path}/sentence_bert_config.json: found max_seq_length {max_tokens!r:.40}")
    prompts = _read_prompts(folder)
    return SentenceSettings(pooling, "Normalize" in modules, max_tokens, prompts)


def _module_paths(folder: SourceFolder) -> dict[str, str]:
    """Last part of each module's type -> its folder, for Transformer, Pooling and perhaps Normalize, in this order."""
    where = f"{folder.path}/modules.json"
    modules = folder.json("modules.json")
    if not isinstance(modules, list) or not all(_is_module(module) for module in modules):
        raise BadModelFile(f"{where}: found {modules!r:.120}, expected a list of objects with type and path")
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]) or modules[0]["path"]:
        expected = "Transformer (in the folder itself), Pooling and perhaps Normalize"
        raise UnsupportedModel(f"{where}: found the steps {kinds!r:.200}, expected {expected}")
    return {kind: module["path"] for kind, module in zip(kinds, modules, strict=True)}


def _is_module(module: Any) -> bool:
    return isinstance(module, dict) and all(isinstance(module.get(key), str) for key in ("type", "path"))


def _read_pooling(folder: SourceFolder, name: str, width: int) -> int:
    config = folder.json_object(name)
    modes = [key for key, value in config.items() if key.startswith("pooling_mode") and value]
    if len(modes) != 1 or modes[0] not in _MODES:
        raise UnsupportedModel(f"{folder.path}/{name}: found the modes {modes!r:.200}, expected {' or '.join(_MODES)}")
    _check_prompts_are_pooled(folder, name, config)
    if config.get("word_embedding_dimension") != width:
        dimension = config.get("word_embedding_dimension")
        raise BadModelFile(f"{folder.path}/{name}: word_embedding_dimension: found {dimension!r:.40}, expected {width}")
    return _MODES[modes[0]]


def _read_prompts(folder: SourceFolder) -> dict[str, str]:
    """The prompts by their role. A default prompt would go before each text; leaving it out would compute something
    else."""
    name = "config_sentence_transformers.json"
    config = folder.json_object(name) if folder.has(name) else {}
    where, default = f"{folder.path}/{name}", config.get("default_prompt_name")
    if default is not None:
        raise UnsupportedModel(f"{where}: found default_prompt_name {default!r:.40}, expected none")
    said = as_dict(config.get("prompts"))
    if not all(isinstance(text, str) and len(text) <= MAX_PROMPT for text in said.values()):
        raise BadModelFile(f"{where}: prompts: found {said!r:.120}, expected texts of at most {MAX_PROMPT} characters")
    found = {role: next((said[name] for name in names if name in said), "") for role, names in PROMPTS.items()}
    return {role: text for role, text in found.items() if text}


def _check_prompts_are_pooled(folder: SourceFolder, name: str, config: dict[str, Any]) -> None:
    """The tokens of a prompt count like all others. Raises UnsupportedModel."""
    if config.get("include_prompt", True) is not True and _read_prompts(folder):
        found = f"found include_prompt {config['include_prompt']!r:.40}"
        raise UnsupportedModel(f"{folder.path}/{name}: {found}, expected True")
