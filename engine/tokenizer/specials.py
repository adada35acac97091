"""The tokens of a vocabulary that are more than text: control tokens, tokens that a model added, what ends an answer.

Source of the keys: ggml's `docs/gguf.md`; of the names that end an answer whatever the keys say: llama.cpp's
`llama-vocab.cpp`.
"""

from itertools import compress

from engine.tokenizer.metadata import CONTROL, USER_DEFINED, Keys, Metadata
from engine.tokenizer.prompts import Specials

ENDS = ("eos", "eot", "eom")
"""Roles in `tokenizer.ggml.{role}_token_id`: end of the text, of the turn, of the message."""

END_NAMES = {
    "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<end_of_turn>", "<turn|>",
    "<|endoftext|>", "<|end_of_text|>", "<end_of_utterance>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
}  # fmt: skip
"""Many files name the end of the text only, and not the end of a turn."""


def read_specials(keys: Keys, *, adds_bos: bool = False) -> Specials:
    """Reads the special tokens; `adds_bos` holds where the file does not say. Raises BadModelFile."""
    tokens, metadata = keys.tokens, keys.metadata
    known = [role for role in ("bos", *ENDS) if metadata.get(f"tokenizer.ggml.{role}_token_id") is not None]
    ids = {role: keys.id(role) for role in known}
    bos, ends = ids.get("bos"), {ids[role] for role in ENDS if role in ids}
    added = keys.of_type(USER_DEFINED)
    ends |= set(compress(range(len(tokens)), map(END_NAMES.__contains__, tokens)))
    control = (keys.of_type(CONTROL) | ends | ({bos} if bos is not None else set())) - added
    adds = bos is not None and keys.flag("tokenizer.ggml.add_bos_token", adds_bos)
    names, extra = _named(tokens, control), _named(tokens, added)
    return Specials(len(tokens), names, extra, tuple(sorted(ends)), bos, adds, _strips(metadata, names | extra))


def _strips(metadata: Metadata, names: dict[str, int]) -> tuple[int, ...]:
    """Phi-3's tokens take the white space after them; GGUF has no key for it, and llama.cpp knows it by name."""
    if metadata.get("general.architecture") != "phi3" or metadata.get("tokenizer.ggml.model") != "llama":
        return ()
    return tuple(number for name, number in names.items() if name not in ("<unk>", "<s>", "<|endoftext|>"))


def _named(tokens: list[str], numbers: set[int]) -> dict[str, int]:
    return {tokens[number]: number for number in sorted(numbers) if tokens[number]}
