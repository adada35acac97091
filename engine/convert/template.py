"""The ids that tokenizer.json puts around a text and between two texts, and their form as GGUF metadata."""

from typing import Any

import numpy as np

from engine.convert.folder import as_dict, as_list
from engine.errors import UnsupportedModel
from engine.gguf import MetadataValue
from engine.tokenizer import Template

Step = tuple[str, str, int]
"""SpecialToken or Sequence, its name, its token type."""

A, B = ("Sequence", "A"), ("Sequence", "B")


def read(where: str, processor: Any, ids: dict[str, int]) -> Template:
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
