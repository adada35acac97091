"""The vocabulary and settings of a BERT tokenizer as GGUF metadata.

Keys and the form of the pieces are llama.cpp's (a piece that begins a word gets U+2581 before it, one that continues a
word loses its "##", a special token stays); what llama.cpp has no key for stands under `cloister.tokenizer`.
"""

from typing import Any

import numpy as np

from engine.convert.folder import SourceFolder
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue

WORD_START = "\u2581"
NORMAL, CONTROL = 1, 3

# role in tokenizer_config.json -> usual token, llama.cpp's keys of its id ("seperator" is theirs)
SPECIAL = {
    "cls_token": ("[CLS]", ("bos", "cls")),
    "sep_token": ("[SEP]", ("eos", "seperator")),
    "unk_token": ("[UNK]", ("unknown",)),
    "pad_token": ("[PAD]", ("padding",)),
    "mask_token": ("[MASK]", ("mask",)),
}


def read(folder: SourceFolder, vocab_size: int) -> dict[str, MetadataValue]:
    """The metadata of the tokenizer in the folder. Raises BadModelFile, or UnsupportedModel for another kind of it."""
    config = folder.json_object("tokenizer_config.json") if folder.has("tokenizer_config.json") else {}
    full = folder.json_object("tokenizer.json") if folder.has("tokenizer.json") else None
    vocabulary = _read_vocabulary(folder, full, vocab_size)
    special = {role: _special_token(folder, config, role) for role in SPECIAL}
    lower_case = config.get("do_lower_case", True)
    accents = config.get("strip_accents")
    settings = {
        "lower_case": lower_case,
        "strip_accents": lower_case if accents is None else accents,
        "chinese_chars": config.get("tokenize_chinese_chars", True),
    }
    if not all(type(value) is bool for value in settings.values()):
        raise BadModelFile(f"{folder.path}/tokenizer_config.json: found {settings}, expected true or false")
    if full is not None:
        _check_full(f"{folder.path}/tokenizer.json", full, settings, special)
    return _metadata(folder, vocabulary, special, settings)


def _read_vocabulary(folder: SourceFolder, full: dict[str, Any] | None, size: int) -> list[str]:
    """The pieces in the order of their ids, as many as the model has rows for."""
    if folder.has("vocab.txt"):
        tokens = folder.text("vocab.txt").removesuffix("\n").replace("\r\n", "\n").split("\n")
    elif full is not None:
        tokens = list(_vocabulary_of(full))
    else:
        raise BadModelFile(f"{folder.path}: found no vocab.txt and no tokenizer.json, expected one of them")
    if len(tokens) != size or len(set(tokens)) != size:
        found = f"{len(tokens)} tokens, {len(set(tokens))} of them different"
        raise BadModelFile(f"{folder.path}: vocabulary: found {found}, expected {size} (vocab_size of config.json)")
    if any("\ud800" <= c <= "\udfff" for c in "".join(tokens)):
        raise BadModelFile(f"{folder.path}: vocabulary: found half of a character (a surrogate), expected whole ones")
    if full is not None and _vocabulary_of(full) != {token: number for number, token in enumerate(tokens)}:
        raise BadModelFile(f"{folder.path}: found gaps in the vocabulary, or vocab.txt unlike tokenizer.json")
    return tokens


def _vocabulary_of(full: dict[str, Any]) -> dict[str, int]:
    model = full.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(vocabulary, dict) or not all(type(number) is int for number in vocabulary.values()):
        raise UnsupportedModel("tokenizer.json: found no model.vocab with token ids, expected a WordPiece model")
    return dict(sorted(vocabulary.items(), key=lambda item: item[1]))


def _special_token(folder: SourceFolder, config: dict[str, Any], role: str) -> str:
    value = config.get(role, SPECIAL[role][0])
    content = value.get("content") if isinstance(value, dict) else value
    if not isinstance(content, str):
        raise BadModelFile(f"{folder.path}/tokenizer_config.json: found {role} {content!r:.40}, expected a token")
    return content


def _check_full(where: str, full: dict[str, Any], settings: dict[str, bool], special: dict[str, str]) -> None:
    """tokenizer.json must say the same as tokenizer_config.json, and nothing that the engine does not do."""
    normalizer, model = _part(full, "normalizer"), _part(full, "model")
    accents = normalizer.get("strip_accents")
    lower_case = normalizer.get("lowercase")
    expected = {
        "normalizer.type": (normalizer.get("type"), "BertNormalizer"),
        "normalizer.clean_text": (normalizer.get("clean_text"), True),
        "normalizer.lowercase": (lower_case, settings["lower_case"]),
        "normalizer.strip_accents": (lower_case if accents is None else accents, settings["strip_accents"]),
        "normalizer.handle_chinese_chars": (normalizer.get("handle_chinese_chars"), settings["chinese_chars"]),
        "pre_tokenizer.type": (_part(full, "pre_tokenizer").get("type"), "BertPreTokenizer"),
        "model.type": (model.get("type", "WordPiece"), "WordPiece"),
        "model.continuing_subword_prefix": (model.get("continuing_subword_prefix", "##"), "##"),
        "model.max_input_chars_per_word": (model.get("max_input_chars_per_word", 100), 100),
    }
    for key, (found, wanted) in expected.items():
        if found != wanted:
            raise UnsupportedModel(f"{where}: {key}: found {found!r:.80}, expected {wanted!r}")
    known = list(special.values())
    added = [token for token in _list(full.get("added_tokens")) if _dict(token).get("content") not in known]
    if added:
        raise UnsupportedModel(f"{where}: added_tokens: found {added!r:.200}, expected none but {known!r:.200}")
    _check_template(where, _part(full, "post_processor"), special["cls_token"], special["sep_token"])


def _part(full: dict[str, Any], key: str) -> dict[str, Any]:
    """An object of tokenizer.json; empty, and so unlike what is expected, where there is none."""
    return _dict(full.get(key))


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _check_template(where: str, processor: dict[str, Any], cls: str, sep: str) -> None:
    """What is put around a text, in either of the two forms that BERT models have."""
    single = processor.get("single")
    steps = [{name: _dict(part).get("id") for name, part in _dict(step).items()} for step in _list(single)]
    template = steps == [{"SpecialToken": cls}, {"Sequence": "A"}, {"SpecialToken": sep}]
    around = [_list(processor.get(role))[:1] for role in ("cls", "sep")]
    if not {"TemplateProcessing": template, "BertProcessing": around == [[cls], [sep]]}.get(str(processor.get("type"))):
        raise UnsupportedModel(f"{where}: post_processor: found {processor!r:.200}, expected {cls!r} text {sep!r}")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _metadata(
    folder: SourceFolder, vocabulary: list[str], special: dict[str, str], settings: dict[str, bool]
) -> dict[str, MetadataValue]:
    ids = {token: number for number, token in enumerate(vocabulary)}
    missing = [token for token in special.values() if token not in ids]
    if missing:
        raise BadModelFile(f"{folder.path}: vocabulary: found no {missing!r:.200}, expected the special tokens")
    control = set(special.values())
    pieces = [token if token in control else _to_gguf(token) for token in vocabulary]
    types = np.array([CONTROL if token in control else NORMAL for token in vocabulary], np.int32)
    if len(set(pieces)) != len(pieces):
        raise UnsupportedModel(f"{folder.path}: found pieces that are the same in GGUF's form, expected different ones")
    return {
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.pre": "bert-bge",
        "tokenizer.ggml.tokens": pieces,
        "tokenizer.ggml.token_type": types,
        **{f"tokenizer.ggml.{key}_token_id": ids[special[role]] for role, (_, keys) in SPECIAL.items() for key in keys},
        **{f"cloister.tokenizer.{key}": value for key, value in settings.items()},
    }


def _to_gguf(token: str) -> str:
    return token.removeprefix("##") if token.startswith("##") else WORD_START + token
