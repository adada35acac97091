"""The tokens of a vocabulary that are more than text: control tokens, tokens that a model added, what ends an answer.

Source of the keys: ggml's `docs/gguf.md`; of the names that end an answer whatever the keys say: llama.cpp's
`llama-vocab.cpp`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from engine.errors import BadModelFile
from engine.tokenizer.base import Specials
from engine.tokenizer.metadata import CONTROL, USER_DEFINED, Metadata, of_type, read_flag, read_tokens

ENDS = ("eos", "eot", "eom")
"""Roles in `tokenizer.ggml.{role}_token_id`: end of the text, of the turn, of the message."""

END_NAMES = {
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>", "<turn|>",
    "<|endoftext|>", "<|end_of_text|>", "<end_of_utterance>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
}  # fmt: skip
"""Many files name the end of the text only, and not the end of a turn."""


def longest_first(names: Iterable[str]) -> re.Pattern[str] | None:
    """Finds any of the names, where several begin at the same place the longest; None where there are none."""
    ordered = sorted(names, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None


def fragments(text: str, find: re.Pattern[str] | None) -> Iterator[tuple[int, str, bool]]:
    """Where each begins, what is found in a text and what lies between, and which of both it is."""
    at = 0
    for match in find.finditer(text) if find else ():
        yield at, text[at : match.start()], False
        yield match.start(), match[0], True
        at = match.end()
    yield at, text[at:], False


def read_specials(metadata: Metadata, *, adds_bos: bool = False) -> Specials:
    """`adds_bos` holds where the file does not say. Raises BadModelFile."""
    tokens = read_tokens(metadata)
    bos = _read_optional(metadata, "bos", len(tokens))
    ends = {number for role in ENDS if (number := _read_optional(metadata, role, len(tokens))) is not None}
    added = of_type(metadata, len(tokens), USER_DEFINED)
    ends |= {number for number, name in enumerate(tokens) if name in END_NAMES}
    control = (of_type(metadata, len(tokens), CONTROL) | ends | ({bos} if bos is not None else set())) - added
    adds = bos is not None and read_flag(metadata, "tokenizer.ggml.add_bos_token", adds_bos)
    return Specials(len(tokens), _named(tokens, control), _named(tokens, added), tuple(sorted(ends)), bos, adds)


def _named(tokens: list[str], numbers: set[int]) -> Mapping[str, int]:
    return MappingProxyType({tokens[number]: number for number in sorted(numbers) if tokens[number]})


def _read_optional(metadata: Metadata, role: str, size: int) -> int | None:
    """The id of a role; None where the file does not name one. Raises BadModelFile."""
    key = f"tokenizer.ggml.{role}_token_id"
    value = metadata.get(key)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < size:
        raise BadModelFile(f"{key}: found {value!r:.60}, expected an id from 0 to {size - 1}")
    return value
