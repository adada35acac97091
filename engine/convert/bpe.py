"""A byte-level BPE tokenizer.json (RoBERTa, ModernBERT) as GGUF metadata, under llama.cpp's name for it, `gpt2`."""

from typing import Any

from engine.convert import pieces
from engine.convert.folder import SourceFolder, as_dict, as_list
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue
from engine.tokenizer.bpe import SIGNS

IMPOSSIBLE = {0xC0, 0xC1, *range(0xF5, 0x100)}
"""Bytes that no UTF-8 has."""

# type of the normalizer -> llama.cpp's name of both; the patterns are GPT-2's, built into ByteLevel
PRE = {None: "roberta-bpe", "NFC": "modern-bert"}

# what is done otherwise, if anything but this is found: part of model -> by default, expected ("" is as good as none)
EXPECTED = {
    "dropout": (None, None),
    "continuing_subword_prefix": (None, None),
    "end_of_word_suffix": (None, None),
    "byte_fallback": (False, False),
}


def read(folder: SourceFolder, vocab_size: int) -> dict[str, MetadataValue]:
    """The metadata of the tokenizer in the folder. Raises BadModelFile, or UnsupportedModel for another kind of it."""
    where = f"{folder.path}/tokenizer.json"
    full = folder.json_object("tokenizer.json")
    model = as_dict(full.get("model"))
    for key, (default, wanted) in EXPECTED.items():
        if (model.get(key, default) or wanted) != wanted:
            raise UnsupportedModel(f"{where}: model.{key}: found {model[key]!r:.80}, expected {wanted!r}")
    texts = pieces.vocabulary_of(where, model)
    pre, space = _read_before(where, full)
    found = pieces.read(folder, full, texts, vocab_size)
    missing = [byte for byte, sign in enumerate(SIGNS) if sign not in set(texts) and byte not in IMPOSSIBLE]
    if missing:
        raise UnsupportedModel(f"{where}: model.vocab: found no piece for the bytes {missing!r:.80}, expected all")
    around = pieces.read_template(where, full.get("post_processor"), found.ids)
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": found.texts,
        "tokenizer.ggml.token_type": found.types,
        "tokenizer.ggml.merges": _read_merges(where, model),
        **pieces.roles(folder, found, around),
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_eos_token": True,
        "tokenizer.ggml.add_sep_token": True,
        "tokenizer.ggml.add_space_prefix": space,
        "cloister.tokenizer.whole_pieces": model.get("ignore_merges", False) is True,
        **pieces.to_metadata(around),
    }


def _read_before(where: str, full: dict[str, Any]) -> tuple[str, bool]:
    """llama.cpp's name, and whether a space is put before a text."""
    normalizer, before = full.get("normalizer"), as_dict(full.get("pre_tokenizer"))
    kind = as_dict(normalizer).get("type") if normalizer is not None else None
    if kind not in (None, "NFC") or (normalizer is not None and kind is None):
        raise UnsupportedModel(f"{where}: normalizer: found {normalizer!r:.120}, expected none or NFC")
    space = before.get("add_prefix_space")
    if before.get("type") != "ByteLevel" or before.get("use_regex", True) is not True or type(space) is not bool:
        raise UnsupportedModel(f"{where}: pre_tokenizer: found {before!r:.200}, expected ByteLevel with its pattern")
    late = [token.content for token in pieces.read_added(where, full) if not (token.special or token.normalized)]
    if kind is not None and late:
        raise UnsupportedModel(f"{where}: added_tokens: found {late!r:.120} not normalized, expected normalized ones")
    return PRE[kind], space


def _read_merges(where: str, model: dict[str, Any]) -> list[str]:
    """The merges as "a b", from either of the two forms: "a b", or ["a", "b"]. Raises BadModelFile."""
    found = []
    for pair in as_list(model.get("merges")):
        parts = pair.split(" ") if isinstance(pair, str) else as_list(pair)
        if len(parts) != 2 or not all(isinstance(part, str) and part and " " not in part for part in parts):
            raise BadModelFile(f"{where}: model.merges: found {pair!r:.80}, expected two pieces")
        found.append(" ".join(parts))
    return found
