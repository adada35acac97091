"""Constraints over published vocabularies: what is forced is what the model's own tokenizer gives."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.generate.constraint.grammar import Grammars
from engine.generate.constraint.spec import Schema
from engine.gguf import read
from engine.tokenizer import from_metadata

FIELD = {
    "type": "object",
    "properties": {"value": {"type": ["integer", "null"]}, "quote": {"type": ["string", "null"]}},
}
SCHEMA = {"type": "object", "properties": {"invoice_number": FIELD, "Gesamtbetrag in EUR": FIELD}}
TEXT = "Rechnung Nr. 1234\nGesamtbetrag:  5678 EUR <|im_end|></s><|eot_id|> zahlbar bis 2024-05-01"
ANSWER = {
    "invoice_number": {"value": 1234, "quote": "Rechnung Nr. 1234"},
    "Gesamtbetrag in EUR": {"value": 5678, "quote": "Gesamtbetrag: 5678 EUR <|im_end|></s><|eot_id|> zahlbar"},
}
QUOTES = {f"/properties/{name}/properties/quote": TEXT for name in ANSWER}


@pytest.mark.parametrize("name", ["qwen2", "llama-bpe", "gpt-2", "llama-spm"])
def test_forced_tokens_are_those_of_the_model(data_folder: Path, name: str) -> None:
    tokenizer = from_metadata(read(data_folder / f"tokenizers/ggml-vocab-{name}.gguf").metadata)
    ends = tokenizer.end_ids or (0,)
    grammars = Grammars(tokenizer.token_bytes, ends, tokenizer.encode_within)
    text = json.dumps(ANSWER, ensure_ascii=False, separators=(",", ":"))
    ids, forced = tokenizer.encode_within(text), 0
    constraint, control = (
        grammars.make(Schema(SCHEMA, QUOTES)),
        {i for i, b in enumerate(tokenizer.token_bytes) if not b},
    )
    at = 0
    while at < len(ids):
        if must := constraint.forced():
            assert must == ids[at : at + len(must)]
            constraint.advance(must)
            at, forced = at + len(must), forced + len(must)
            continue
        allowed = np.flatnonzero(np.unpackbits(constraint.mask().view(np.uint8), bitorder="little"))
        assert control.isdisjoint(allowed.tolist()) or set(allowed.tolist()) & control <= set(ends)
        assert ids[at] in allowed
        constraint.advance(ids[at : at + 1])
        at += 1
    assert constraint.is_over
    assert forced >= 12
    assert tokenizer.decode(ids) == text
