"""The steps of sentence-transformers around the encoder: pooling, normalisation, and the length at which it cuts."""

from dataclasses import dataclass
from typing import Any

from engine.convert.folder import SourceFolder, as_dict
from engine.errors import BadModelFile, UnsupportedModel

# pooling mode of 1_Pooling/config.json -> llama.cpp's number of it (enum llama_pooling_type)
POOLING = {"pooling_mode_mean_tokens": 1, "pooling_mode_cls_token": 2}
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


def read(folder: SourceFolder, width: int) -> SentenceSettings:
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
    if len(modes) != 1 or modes[0] not in POOLING:
        raise UnsupportedModel(f"{folder.path}/{name}: found the modes {modes!r:.200}, expected {' or '.join(POOLING)}")
    _check_prompts_are_pooled(folder, name, config)
    if config.get("word_embedding_dimension") != width:
        dimension = config.get("word_embedding_dimension")
        raise BadModelFile(f"{folder.path}/{name}: word_embedding_dimension: found {dimension!r:.40}, expected {width}")
    return POOLING[modes[0]]


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
