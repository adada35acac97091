"""The vocabulary and settings of a BERT tokenizer as GGUF metadata.

Keys and the form of the pieces are llama.cpp's (a piece that begins a word gets U+2581 before it, one that continues a
word loses its "##", a special token stays); what llama.cpp has no key for stands under `cloister.tokenizer`.
"""

from typing import Any

from engine.convert import pieces
from engine.convert.folder import SourceFolder, as_dict, as_list
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue
from engine.tokenizer import Template
from engine.tokenizer.metadata import CONTROL, NORMAL

WORD_START = "\u2581"

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
    around = None
    if full is not None:
        around = _check_full(f"{folder.path}/tokenizer.json", full, settings, special, vocabulary)
    found = _metadata(folder, vocabulary, special, settings, vocab_size)
    return found | (pieces.to_metadata(around) if around else {})


def _read_vocabulary(folder: SourceFolder, full: dict[str, Any] | None, size: int) -> list[str]:
    """The pieces in the order of their ids, as many as the model has rows for."""
    if folder.has("vocab.txt"):
        tokens = folder.text("vocab.txt").removesuffix("\n").replace("\r\n", "\n").split("\n")
    elif full is not None:
        tokens = list(_vocabulary_of(full))
    else:
        raise BadModelFile(f"{folder.path}: found no vocab.txt and no tokenizer.json, expected one of them")
    pieces.check_count(str(folder.path), tokens, size)
    if full is not None and _vocabulary_of(full) != {token: number for number, token in enumerate(tokens)}:
        raise BadModelFile(f"{folder.path}: found gaps in the vocabulary, or vocab.txt unlike tokenizer.json")
    return tokens


def _vocabulary_of(full: dict[str, Any]) -> dict[str, int]:
    vocabulary = as_dict(full.get("model")).get("vocab")
    if not isinstance(vocabulary, dict) or not all(type(number) is int for number in vocabulary.values()):
        raise UnsupportedModel("tokenizer.json: found no model.vocab with token ids, expected a WordPiece model")
    return dict(sorted(vocabulary.items(), key=lambda item: item[1]))


def _special_token(folder: SourceFolder, config: dict[str, Any], role: str) -> str:
    value = config.get(role, SPECIAL[role][0])
    content = value.get("content") if isinstance(value, dict) else value
    if not isinstance(content, str):
        raise BadModelFile(f"{folder.path}/tokenizer_config.json: found {role} {content!r:.40}, expected a token")
    return content


def _check_full(
    where: str, full: dict[str, Any], settings: dict[str, bool], special: dict[str, str], vocabulary: list[str]
) -> Template | None:
    """tokenizer.json must say the same as tokenizer_config.json, and nothing that the engine does not do. What it puts
    around texts, if that is not what BERT does."""
    normalizer, model = as_dict(full.get("normalizer")), as_dict(full.get("model"))
    accents = normalizer.get("strip_accents")
    lower_case = normalizer.get("lowercase")
    expected = {
        "normalizer.type": (normalizer.get("type"), "BertNormalizer"),
        "normalizer.clean_text": (normalizer.get("clean_text"), True),
        "normalizer.lowercase": (lower_case, settings["lower_case"]),
        "normalizer.strip_accents": (lower_case if accents is None else accents, settings["strip_accents"]),
        "normalizer.handle_chinese_chars": (normalizer.get("handle_chinese_chars"), settings["chinese_chars"]),
        "pre_tokenizer.type": (as_dict(full.get("pre_tokenizer")).get("type"), "BertPreTokenizer"),
        "model.type": (model.get("type", "WordPiece"), "WordPiece"),
        "model.continuing_subword_prefix": (model.get("continuing_subword_prefix", "##"), "##"),
        "model.max_input_chars_per_word": (model.get("max_input_chars_per_word", 100), 100),
    }
    for key, (found, wanted) in expected.items():
        if found != wanted:
            raise UnsupportedModel(f"{where}: {key}: found {found!r:.80}, expected {wanted!r}")
    known = list(special.values())
    added = [token for token in as_list(full.get("added_tokens")) if as_dict(token).get("content") not in known]
    if added:
        raise UnsupportedModel(f"{where}: added_tokens: found {added!r:.200}, expected none but {known!r:.200}")
    return _around(where, full, special, vocabulary)


def _around(where: str, full: dict[str, Any], special: dict[str, str], vocabulary: list[str]) -> Template | None:
    """None for BERT's template. Raises UnsupportedModel where one text does not stand between its two tokens."""
    ids = {token: number for number, token in enumerate(vocabulary)}
    found = pieces.read_template(where, full.get("post_processor"), ids)
    cls, sep = ((ids[special[role]],) if special[role] in ids else () for role in ("cls_token", "sep_token"))
    if (found.prefix, found.suffix) != (cls, sep):
        shown = full.get("post_processor")
        expected = f"{special['cls_token']!r} text {special['sep_token']!r}"
        raise UnsupportedModel(f"{where}: post_processor: found {shown!r:.200}, expected {expected}")
    return None if found == Template(cls, sep, sep, 1) else found


def _metadata(
    folder: SourceFolder, vocabulary: list[str], special: dict[str, str], settings: dict[str, bool], rows: int
) -> dict[str, MetadataValue]:
    ids = {token: number for number, token in enumerate(vocabulary)}
    missing = [token for token in special.values() if token not in ids]
    if missing:
        raise BadModelFile(f"{folder.path}: vocabulary: found no {missing!r:.200}, expected the special tokens")
    control = set(special.values())
    texts = [token if token in control else _to_gguf(token) for token in vocabulary]
    kinds = [CONTROL if token in control else NORMAL for token in vocabulary]
    if len(set(texts)) != len(texts):
        raise UnsupportedModel(f"{folder.path}: found pieces that are the same in GGUF's form, expected different ones")
    texts, types = pieces.pad(texts, kinds, rows)
    return {
        "tokenizer.ggml.model": "bert",
        "tokenizer.ggml.pre": "bert-bge",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": types,
        **{f"tokenizer.ggml.{key}_token_id": ids[special[role]] for role, (_, keys) in SPECIAL.items() for key in keys},
        **{f"cloister.tokenizer.{key}": value for key, value in settings.items()},
    }


def _to_gguf(token: str) -> str:
    return token.removeprefix("##") if token.startswith("##") else WORD_START + token
