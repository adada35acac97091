"""SentencePiece models: GGUF metadata as a `ModelProto`, and small vocabularies trained by the `tokenizers` package.

Source of the fields: `sentencepiece_model.proto`. The numbers of the types are those of `tokenizer.ggml.token_type`.
"""

import json
import struct
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, trainers

from tests.engine.tokenizer.texts import LEARNED

SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, value: bytes | int) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def model_proto(metadata: dict[str, Any]) -> bytes:
    """What `SentencePieceProcessor(model_proto=…)` reads."""
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"].tolist()
    out = b""
    for token, score, kind in zip(tokens, metadata["tokenizer.ggml.scores"].tolist(), kinds, strict=True):
        piece = _field(1, token.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", score) + _field(3, int(kind))
        out += _field(1, piece)
    prefix = int(metadata.get("tokenizer.ggml.add_space_prefix", True))
    trainer = _field(3, 2) + _field(35, int(6 in kinds))  # BPE; byte fallback
    normalizer = _field(1, b"identity") + _field(3, prefix) + _field(4, 0) + _field(5, 1)
    return out + _field(2, trainer) + _field(3, normalizer)


def trained(prefix: bool, size: int = 900) -> tuple[Tokenizer, dict[str, Any]]:
    """Without pre-tokenizer, so that pieces reach across spaces; with bytes for what was not learned."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    before = [normalizers.Prepend("\u2581")] if prefix else []
    tokenizer.normalizer = normalizers.Sequence([*before, normalizers.Replace(" ", "\u2581")])
    tokenizer.decoder = decoders.ByteFallback()
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[*SPECIAL, *BYTES], show_progress=False)
    tokenizer.train_from_iterator(LEARNED, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    scores = np.zeros(len(tokens), np.float32)
    for rank, pair in enumerate(model["merges"]):
        scores[model["vocab"]["".join(pair)]] = -rank
    kinds = [2, 3, 3, *[6] * 256, *[1] * (len(tokens) - 259)]
    return _without_special(tokenizer), {
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": np.array(kinds, np.int32), "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_space_prefix": prefix,
    }  # fmt: skip


def _without_special(tokenizer: Tokenizer) -> Tokenizer:
    """Special tokens are looked for in texts by the package, not here."""
    changed = json.loads(tokenizer.to_str())
    changed["added_tokens"] = []
    return Tokenizer.from_str(json.dumps(changed))
