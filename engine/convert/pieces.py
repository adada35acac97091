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


Step = tuple[str, str, int]
"""SpecialToken or Sequence, its name, its token type."""

A, B = ("Sequence", "A"), ("Sequence", "B")


def read_template(where: str, processor: Any, ids: dict[str, int]) -> Template:
    """Reads the template from the post_processor of a tokenizer.json. Raises UnsupportedModel for an unknown kind of
    it."""
    found = _template(*_both(as_dict(processor)))
    if found is None or not _are_known(as_dict(processor), found, ids):
        expected = "tokens of the vocabulary around one text, and the same around two"
        raise UnsupportedModel(f"{where}: post_processor: found {processor!r:.200}, expected {expected}")
    prefix, suffix, middle = (tuple(ids[name] for name in part) for part in found[:3])
    return Template(prefix, suffix, middle, found[3])


def to_metadata(template: Template) -> dict[str, MetadataValue]:
    """Ours; llama.cpp's keys stand beside them."""
    parts = {"prefix": template.prefix, "suffix": template.suffix, "middle": template.middle}
    return {
        **{f"cloister.tokenizer.{name}": np.array(ids, np.int32) for name, ids in parts.items()},
        "cloister.tokenizer.second_type": template.second_type,
    }


def _both(processor: dict[str, Any]) -> tuple[list[Step], list[Step]]:
    """The steps for one text and for two; none for an unknown kind."""
    if processor.get("type") == "TemplateProcessing":
        return _steps(processor.get("single")), _steps(processor.get("pair"))
    names = [str((as_list(processor.get(role)) or [None])[0]) for role in ("cls", "sep")]
    cls, sep = (("SpecialToken", name) for name in names)
    single: list[Step] = [(*cls, 0), (*A, 0), (*sep, 0)]
    pairs: dict[Any, list[Step]] = {
        "BertProcessing": [*single, (*B, 1), (*sep, 1)],
        "RobertaProcessing": [*single, (*sep, 0), (*B, 0), (*sep, 0)],
    }
    kind = str(processor.get("type"))
    return (single, pairs[kind]) if kind in pairs else ([], [])


def _steps(steps: Any) -> list[Step]:
    found = []
    for step in map(as_dict, as_list(steps)):
        for kind, part in step.items():
            found.append((str(kind), str(as_dict(part).get("id")), as_dict(part).get("type_id")))
    return [(kind, name, number if type(number) is int else -1) for kind, name, number in found]


def _template(
    single: list[Step], pair: list[Step]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], int] | None:
    """Names before, after and between texts, and the second text's type; None where the two do not fit each other."""
    if pair == [(*A, 0), (*B, 1)]:  # the package's, where a model states none: as BERT does
        end = single[single.index((*A, 0)) + 1 :] if (*A, 0) in single else []
        pair = [*single, (*B, 1), *((*step[:2], 1) for step in end)]
    names = [step[:2] for step in pair]
    if A not in names or B not in names or names.index(A) > names.index(B):
        return None
    first, second = names.index(A), names.index(B)
    kind = pair[second][2]
    types = [0] * second + [kind] * (len(pair) - second)
    alone = [(*step, 0) for step in [*names[: first + 1], *names[second + 1 :]]]
    if single != alone or [step[2] for step in pair] != types or kind not in (0, 1):
        return None
    if any(step[0] != "SpecialToken" for step in pair if step[:2] not in (A, B)) or (
        names.count(A),
        names.count(B),
    ) != (1, 1):
        return None
    parts = (names[:first], names[second + 1 :], names[first + 1 : second])
    prefix, suffix, middle = (tuple(name for _, name in part) for part in parts)
    return prefix, suffix, middle, kind


def _are_known(processor: dict[str, Any], found: Any, ids: dict[str, int]) -> bool:
    """Whether the names are those of the vocabulary, with its ids."""
    names = [name for part in found[:3] for name in part]
    stated = {name: as_dict(part).get("ids") for name, part in as_dict(processor.get("special_tokens")).items()}
    stated |= {str(role[0]): role[1:] for role in map(as_list, (processor.get("cls"), processor.get("sep"))) if role}
    return all(name in ids and stated.get(name) == [ids[name]] for name in names)
