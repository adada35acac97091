"""A unigram tokenizer.json (XLM-RoBERTa) as GGUF metadata, under llama.cpp's name for it, `t5`."""

import binascii
from base64 import b64decode
from typing import Any

import numpy as np

from engine.convert import pieces
from engine.convert.folder import SourceFolder, as_dict, as_list
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue
from engine.tokenizer.metadata import UNKNOWN, USER_DEFINED

MAX_SCORE = 1e30

_SPACES = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
_MARKS = _SPACES | {"content": "\u2581"}
_STRIP = {"type": "Strip", "strip_left": False, "strip_right": True}

# way of white space -> normalizers after the character map, pre-tokenizers before the Metaspace
WAYS = [
    ("split", [], ["WhitespaceSplit"]),
    ("split", [_SPACES], ["WhitespaceSplit"]),
    ("keep", [_SPACES], []),
    ("strip", [_STRIP, _MARKS], []),
]

# what is done otherwise, if anything but this is found: part of Metaspace -> by default, expected
METASPACE = {
    "replacement": ("\u2581", "\u2581"),
    "add_prefix_space": (True, True),
    "prepend_scheme": ("always", "always"),
    "split": (True, True),
}


def read(folder: SourceFolder, vocab_size: int) -> dict[str, MetadataValue]:
    """The metadata of the tokenizer in the folder. Raises BadModelFile, or UnsupportedModel for another kind of it."""
    where = f"{folder.path}/tokenizer.json"
    full = folder.json_object("tokenizer.json")
    model = as_dict(full.get("model"))
    texts, scores = _read_scores(where, model)
    found = pieces.read(folder, full, texts, vocab_size)
    if len(found.texts) != len(texts) and (found.types[len(texts) :] == USER_DEFINED).any():
        raise UnsupportedModel(f"{where}: added_tokens: found tokens without a score, expected special tokens only")
    if (found.types == USER_DEFINED).any():
        raise UnsupportedModel(f"{where}: added_tokens: found tokens that are not special, expected special ones only")
    unknown = _read_unknown(where, model, len(texts))
    found.types[unknown] = UNKNOWN
    around = pieces.read_template(where, full.get("post_processor"), found.ids)
    return {
        "tokenizer.ggml.model": "t5",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": found.texts,
        **_scores_metadata(scores + [0.0] * (len(found.texts) - len(scores))),
        "tokenizer.ggml.token_type": found.types,
        **pieces.roles(folder, found, around),
        "tokenizer.ggml.unknown_token_id": unknown,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.add_eos_token": True,
        "tokenizer.ggml.add_space_prefix": True,
        "tokenizer.ggml.remove_extra_whitespaces": True,
        **_read_normalizer(where, full),
        **pieces.to_metadata(around),
    }


def _read_scores(where: str, model: dict[str, Any]) -> tuple[list[str], list[float]]:
    rows = as_list(model.get("vocab"))
    right = all(isinstance(row, list) and len(row) == 2 and isinstance(row[0], str) for row in rows)
    if not rows or not right or not all(type(row[1]) in (int, float) and abs(row[1]) < MAX_SCORE for row in rows):
        raise BadModelFile(f"{where}: model.vocab: found other items, expected pieces with their scores")
    if model.get("byte_fallback", False) is not False:
        raise UnsupportedModel(f"{where}: model.byte_fallback: found {model['byte_fallback']!r:.40}, expected False")
    return [row[0] for row in rows], [float(row[1]) for row in rows]


def _read_unknown(where: str, model: dict[str, Any], count: int) -> int:
    unknown = model.get("unk_id")
    if type(unknown) is not int or not 0 <= unknown < count:
        raise BadModelFile(f"{where}: model.unk_id: found {unknown!r:.40}, expected an id below {count}")
    return unknown


def _scores_metadata(scores: list[float]) -> dict[str, MetadataValue]:
    """The scores as metadata: float32, and float64 too where float32 would round them."""
    exact = np.array(scores)
    rounded = exact.astype(np.float32)
    more = {} if np.array_equal(rounded, exact) else {"cloister.tokenizer.scores": exact}
    return {"tokenizer.ggml.scores": rounded, **more}


def _read_normalizer(where: str, full: dict[str, Any]) -> dict[str, MetadataValue]:
    """The character map, and the way of white space."""
    normalizers = _sequence(full.get("normalizer"), "normalizers")
    before = _sequence(full.get("pre_tokenizer"), "pretokenizers")
    first, last = as_dict(normalizers[:1] and normalizers[0]), as_dict(before[-1:] and before[-1])
    names = [as_dict(step).get("type") for step in before[:-1]]
    way = next((way for way, rest, steps in WAYS if rest == normalizers[1:] and steps == names), None)
    exact = all(last.get(key, default) == wanted for key, (default, wanted) in METASPACE.items())
    if first.get("type") != "Precompiled" or last.get("type") != "Metaspace" or way is None or not exact:
        shown = [
            {key: value for key, value in as_dict(step).items() if key != "precompiled_charsmap"}
            for step in normalizers
        ]
        expected = "a precompiled character map, then one of the usual ways to white space and Metaspace"
        raise UnsupportedModel(f"{where}: found {shown!r:.200} and {before!r:.200}, expected {expected}")
    return {"tokenizer.ggml.precompiled_charsmap": _decode(where, first), "cloister.tokenizer.white_space": way}


def _sequence(step: Any, name: str) -> list[Any]:
    """The steps of a Sequence, or the one step."""
    found = as_dict(step)
    return as_list(found.get(name)) if found.get("type") == "Sequence" else [step]


def _decode(where: str, step: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    text = step.get("precompiled_charsmap")
    try:
        blob = b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        blob = b""
    if not blob:
        raise BadModelFile(f"{where}: precompiled_charsmap: found {text!r:.40}, expected base64")
    return np.frombuffer(blob, np.uint8)
