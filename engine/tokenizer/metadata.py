"""The reader of the GGUF metadata that all tokenizers share. Source of the keys: ggml's `docs/gguf.md`; of the names
that end an answer whatever the keys say: llama.cpp's `llama-vocab.cpp`."""

from collections.abc import Mapping
from itertools import compress

import numpy as np

from engine.errors import BadModelFile
from engine.gguf import MetadataValue
from engine.tokenizer.base import Template
from engine.tokenizer.prompts import Specials

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
"""llama.cpp's numbers in `tokenizer.ggml.token_type`."""

MAX_AROUND = 16
"""Ids before, after or between texts."""

# role with two keys of its id -> both, the newer name first
ROLES = {
    "cls": ("tokenizer.ggml.cls_token_id", "tokenizer.ggml.bos_token_id"),
    "sep": ("tokenizer.ggml.seperator_token_id", "tokenizer.ggml.eos_token_id"),
}

ENDS = ("eos", "eot", "eom")
"""Roles in `tokenizer.ggml.{role}_token_id`: end of the text, of the turn, of the message."""

END_NAMES = {
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>", "<turn|>",
    "<|endoftext|>", "<|end_of_text|>", "<end_of_utterance>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
}  # fmt: skip
"""Many files name the end of the text only, and not the end of a turn."""

Metadata = Mapping[str, MetadataValue]


class Keys:
    """The keys of a tokenizer; every method raises BadModelFile for what is not as it should be."""

    def __init__(self, metadata: Metadata) -> None:
        """`tokens` are the pieces in the order of their ids, at least one."""
        tokens = metadata.get("tokenizer.ggml.tokens")
        if not isinstance(tokens, list) or not tokens:
            raise BadModelFile(f"tokenizer.ggml.tokens: found {type(tokens).__name__}, expected strings")
        self.metadata, self.tokens, self.size = metadata, tokens, len(tokens)

    def id(self, role: str) -> int:
        """The id of one of ROLES, or of a role that has one key."""
        keys = ROLES.get(role, (f"tokenizer.ggml.{role}_token_id",))
        key = next((key for key in keys if key in self.metadata), keys[0])
        value = self.metadata.get(key)
        if type(value) is not int or not 0 <= value < self.size:
            raise BadModelFile(f"{key}: found {value!r:.60}, expected an id from 0 to {self.size - 1}")
        return value

    def of_type(self, *types: int) -> set[int]:
        """The ids of these types; none where the file has no types."""
        found = self.metadata.get("tokenizer.ggml.token_type")
        if found is None:
            return set()
        if not isinstance(found, np.ndarray) or found.shape != (self.size,):
            raise BadModelFile(f"tokenizer.ggml.token_type: found {_kind(found)}, expected {self.size} numbers")
        return {int(number) for number in np.flatnonzero(np.isin(found, types))}

    def ruled_out(self) -> set[int]:
        """The ids that no text becomes."""
        return self.of_type(UNKNOWN, CONTROL, UNUSED)

    def scores(self, key: str) -> list[float]:
        """A score for each piece."""
        scores = self.metadata.get(key)
        if not isinstance(scores, np.ndarray) or scores.shape != (self.size,) or scores.dtype.kind != "f":
            raise BadModelFile(f"{key}: found {_kind(scores)}, expected {self.size} numbers")
        if not np.isfinite(scores).all():
            raise BadModelFile(f"{key}: found a score that is not finite")
        return [float(score) for score in scores]

    def settings(self, usual: Mapping[str, bool]) -> dict[str, bool]:
        """Ours where the file has them, else the usual ones."""
        return {name: self.flag(f"cloister.tokenizer.{name}", default) for name, default in usual.items()}

    def flag(self, key: str, default: bool) -> bool:
        """The bool at `key`, else the default. Raises BadModelFile for another type."""
        value = self.metadata.get(key, default)
        if type(value) is not bool:
            raise BadModelFile(f"{key}: found {value!r:.60}, expected a bool")
        return value

    def recorded_template(self) -> Template | None:
        """The template that the import recorded; None if it did not."""
        if "cloister.tokenizer.prefix" not in self.metadata:
            return None
        kind = self.metadata.get("cloister.tokenizer.second_type", 0)
        if type(kind) is not int or kind not in (0, 1):
            raise BadModelFile(f"cloister.tokenizer.second_type: found {kind!r:.60}, expected 0 or 1")
        prefix, suffix, middle = (self._around(name) for name in ("prefix", "suffix", "middle"))
        return Template(prefix, suffix, middle, kind)

    def template(self, *, bos: bool, eos: bool) -> Template:
        """The template that the import recorded, else the one by llama.cpp's keys and, where they are missing, its
        habits. There a second text is framed like the first."""
        if (recorded := self.recorded_template()) is not None:
            return recorded
        adds_bos = self.flag("tokenizer.ggml.add_bos_token", bos)
        adds_eos = self.flag("tokenizer.ggml.add_eos_token", eos)
        prefix = (self.id("bos"),) if adds_bos else ()
        suffix = (self.id("eos"),) if adds_eos else ()
        return Template(prefix, suffix, suffix + prefix, 0)

    def _around(self, name: str) -> tuple[int, ...]:
        ids = self.metadata.get(f"cloister.tokenizer.{name}")
        if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu" or ids.size > MAX_AROUND:
            expected = f"at most {MAX_AROUND} ids"
            raise BadModelFile(f"cloister.tokenizer.{name}: found {type(ids).__name__}, expected {expected}")
        found = tuple(map(int, ids))
        if not all(0 <= number < self.size for number in found):
            raise BadModelFile(
                f"cloister.tokenizer.{name}: found {found!r:.60}, expected ids from 0 to {self.size - 1}"
            )
        return found

    def pieces(self, out: set[int]) -> dict[str, int]:
        """The ids of all pieces but those in `out`; none is empty, none is there twice."""
        ids = {token: number for number, token in enumerate(self.tokens) if number not in out}
        if "" in ids or len(ids) != len(set(range(self.size)) - out):
            raise BadModelFile("tokenizer.ggml.tokens: found an empty piece, or one twice")
        return ids

    def specials(self, *, adds_bos: bool = False) -> Specials:
        """The tokens that are more than text; `adds_bos` holds where the file does not say."""
        known = [role for role in ("bos", *ENDS) if self.metadata.get(f"tokenizer.ggml.{role}_token_id") is not None]
        ids = {role: self.id(role) for role in known}
        bos, ends = ids.get("bos"), {ids[role] for role in ENDS if role in ids}
        added = self.of_type(USER_DEFINED)
        ends |= set(compress(range(self.size), map(END_NAMES.__contains__, self.tokens)))
        control = (self.of_type(CONTROL) | ends | ({bos} if bos is not None else set())) - added
        adds = bos is not None and self.flag("tokenizer.ggml.add_bos_token", adds_bos)
        names, extra = (
            {self.tokens[number]: number for number in sorted(some) if self.tokens[number]} for some in (control, added)
        )
        return Specials(self.size, names, extra, tuple(sorted(ends)), bos, adds, self._strips(names | extra))

    def _strips(self, names: dict[str, int]) -> tuple[int, ...]:
        """Phi-3's tokens take the white space after them; GGUF has no key for it, and llama.cpp knows it by name."""
        if [self.metadata.get(key) for key in ("general.architecture", "tokenizer.ggml.model")] != ["phi3", "llama"]:
            return ()
        return tuple(number for name, number in names.items() if name not in ("<unk>", "<s>", "<|endoftext|>"))


def _kind(value: object) -> str:
    return f"{value.size} of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
