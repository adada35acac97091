"""GGUF metadata -> tokenizer. Source of the keys: ggml's `docs/gguf.md`; of the pieces' form: llama.cpp's converter."""

from collections.abc import Mapping

import numpy as np

from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue
from engine.tokenizer.wordpiece import Settings, Tokenizer, Vocabulary

MODELS = ("bert",)
WORD_START = "\u2581"
CONTROL = 3

# role -> keys of its id, the newer name first
ROLES = {
    "cls": ("tokenizer.ggml.cls_token_id", "tokenizer.ggml.bos_token_id"),
    "sep": ("tokenizer.ggml.seperator_token_id", "tokenizer.ggml.eos_token_id"),
    "unknown": ("tokenizer.ggml.unknown_token_id",),
}

Metadata = Mapping[str, MetadataValue]


def from_metadata(metadata: Metadata) -> Tokenizer:
    """The tokenizer that a GGUF file describes. Raises BadModelFile; UnsupportedModel for another kind of tokenizer."""
    model = metadata.get("tokenizer.ggml.model")
    if model not in MODELS:
        raise UnsupportedModel(f"tokenizer.ggml.model: found {model!r:.60}, expected one of {', '.join(MODELS)}")
    tokens = metadata.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens:
        raise BadModelFile(f"tokenizer.ggml.tokens: found {type(tokens).__name__}, expected strings")
    ids = {role: _id(metadata, keys, len(tokens)) for role, keys in ROLES.items()}
    starts, continuations = _pieces(tokens, _control_ids(metadata, len(tokens)) | set(ids.values()))
    return Tokenizer(Vocabulary(starts, continuations, ids["cls"], ids["sep"], ids["unknown"]), _settings(metadata))


def _id(metadata: Metadata, keys: tuple[str, ...], size: int) -> int:
    key = next((key for key in keys if key in metadata), keys[0])
    value = metadata.get(key)
    if type(value) is not int or not 0 <= value < size:
        raise BadModelFile(f"{key}: found {value!r:.60}, expected an id from 0 to {size - 1}")
    return value


def _control_ids(metadata: Metadata, size: int) -> set[int]:
    types = metadata.get("tokenizer.ggml.token_type")
    if types is None:
        return set()
    if not isinstance(types, np.ndarray) or types.shape != (size,):
        raise BadModelFile(f"tokenizer.ggml.token_type: found {type(types).__name__}, expected {size} numbers")
    return {int(number) for number in np.flatnonzero(types == CONTROL)}


def _pieces(tokens: list[str], control: set[int]) -> tuple[dict[str, int], dict[str, int]]:
    """Pieces that begin a word and pieces that continue one, without the control tokens."""
    starts: dict[str, int] = {}
    continuations: dict[str, int] = {}
    for number, token in enumerate(tokens):
        if number in control:
            continue
        pieces = starts if token.startswith(WORD_START) and token != WORD_START else continuations
        piece = token.removeprefix(WORD_START) if pieces is starts else token
        if not piece or piece in pieces:
            raise BadModelFile(f"tokenizer.ggml.tokens: token {number}: found {token!r:.60} again or empty")
        pieces[piece] = number
    return starts, continuations


def _settings(metadata: Metadata) -> Settings:
    """Ours where the file has them; otherwise what llama.cpp does with every BERT vocabulary."""
    found = {}
    for name in ("lower_case", "strip_accents", "chinese_chars"):
        value = metadata.get(f"cloister.tokenizer.{name}", True)
        if type(value) is not bool:
            raise BadModelFile(f"cloister.tokenizer.{name}: found {value!r:.60}, expected a bool")
        found[name] = value
    return Settings(**found)
