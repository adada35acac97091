"""The pieces of a tokenizer.json with the tokens added to them: texts, types and special roles, as GGUF has them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.convert.folder import SourceFolder, as_dict, as_list
from engine.errors import BadModelFile, UnsupportedModel
from engine.gguf import MetadataValue
from engine.tokenizer import Template
from engine.tokenizer.metadata import CONTROL, NORMAL, UNUSED, USER_DEFINED

MAX_UNUSED = 1024
"""Rows without a piece: embeddings are padded to a multiple of 64 or so."""

# role in tokenizer_config.json -> llama.cpp's key of its id, where the template does not say it
OPTIONAL_ROLES = {"unk_token": "unknown", "pad_token": "padding", "mask_token": "mask"}


@dataclass
class Pieces:
    """Texts and types of all pieces, in the order of their ids."""

    where: str
    texts: list[str]
    types: NDArray[np.int32]

    @property
    def ids(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self.texts)}


@dataclass(frozen=True)
class Added:
    """A token that tokenizer.json adds to the pieces of its model."""

    id: int
    content: str
    special: bool
    normalized: bool


def read(folder: SourceFolder, full: dict[str, Any], texts: list[str], rows: int) -> Pieces:
    """The model's pieces, then the added tokens, then names for the rows without one. Raises BadModelFile."""
    where = f"{folder.path}/tokenizer.json"
    texts = list(texts)
    types = [NORMAL] * len(texts)
    for token in read_added(where, full):
        if token.id == len(texts):
            texts.append(token.content)
            types.append(NORMAL)
        if not token.id < len(texts) or texts[token.id] != token.content:
            raise BadModelFile(
                f"{where}: added_tokens: found {token.content!r:.60} with id {token.id}, expected its id"
            )
        types[token.id] = CONTROL if token.special else USER_DEFINED
    check_count(where, texts, rows)
    return Pieces(where, *pad(texts, types, rows))


def read_added(where: str, full: dict[str, Any]) -> list[Added]:
    """The added tokens in the order of their ids. Raises BadModelFile, or UnsupportedModel for options not
    supported."""
    found = []
    for token in map(as_dict, as_list(full.get("added_tokens"))):
        number, content = token.get("id"), token.get("content")
        if type(number) is not int or number < 0 or not isinstance(content, str) or not content:
            raise BadModelFile(f"{where}: added_tokens: found {token!r:.120}, expected ids and contents")
        special, normalized = (token.get(key) is True for key in ("special", "normalized"))
        odd = [key for key in ("single_word", "lstrip", "rstrip") if token.get(key) and not special]
        if odd:
            raise UnsupportedModel(f"{where}: added_tokens: found {content!r:.60} with {odd}, expected none of them")
        found.append(Added(number, content, special, normalized))
    return sorted(found, key=lambda token: token.id)


def check_count(where: str, texts: list[str], rows: int) -> None:
    """Checks that there are as many pieces as rows, or a few less, all different, of whole characters. Raises
    BadModelFile."""
    different = len(set(texts))
    if not rows - MAX_UNUSED <= len(texts) <= rows or different != len(texts):
        found = f"{len(texts)} tokens, {different} of them different"
        raise BadModelFile(f"{where}: vocabulary: found {found}, expected {rows} (vocab_size of config.json)")
    if any("\ud800" <= c <= "\udfff" for c in "".join(texts)):
        raise BadModelFile(f"{where}: vocabulary: found half of a character (a surrogate), expected whole ones")


def pad(texts: list[str], types: list[int], rows: int) -> tuple[list[str], NDArray[np.int32]]:
    """llama.cpp's names for rows without a piece."""
    more = range(len(texts), rows)
    return texts + [f"[PAD{number}]" for number in more], np.array(types + [UNUSED] * len(more), np.int32)


def roles(folder: SourceFolder, pieces: Pieces, template: Template) -> dict[str, MetadataValue]:
    """llama.cpp's keys of special tokens: those of the template, and others that the folder names."""
    around = template.prefix, template.suffix
    if any(len(ids) != 1 for ids in around):
        raise UnsupportedModel(f"{pieces.where}: post_processor: found {around}, expected one token before and after")
    first, last = template.prefix[0], template.suffix[0]
    found = {"bos": first, "eos": last, "cls": first, "seperator": last}
    names: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        names |= folder.json_object(name) if folder.has(name) else {}
    ids = pieces.ids
    for role, key in OPTIONAL_ROLES.items():
        value = names.get(role)
        content = value.get("content") if isinstance(value, dict) else value
        if isinstance(content, str) and content in ids:
            found[key] = ids[content]
    return {f"tokenizer.ggml.{key}_token_id": number for key, number in found.items()}


def vocabulary_of(where: str, model: dict[str, Any]) -> list[str]:
    """The pieces of a model.vocab that maps them to ids, which must be 0, 1, 2 …; raises BadModelFile."""
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict) or not all(type(number) is int for number in vocabulary.values()):
        raise UnsupportedModel(f"{where}: found no model.vocab with token ids, expected them")
    found = sorted(vocabulary.items(), key=lambda item: item[1])
    if [number for _, number in found] != list(range(len(found))):
        raise BadModelFile(f"{where}: model.vocab: found gaps or an id twice, expected 0 to {len(found) - 1}")
    return [piece for piece, _ in found]
