"""Writes tests/golden/encoders.json: `python -m tests.reference.make_encoders`, where torch and transformers are.

What transformers computes with the small random models of tests/encoders.py, so that the references can be compared
with it everywhere. Of hidden states only some rows are kept.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.encoders import CONFIGS, ENDINGS, write_encoder

TARGET = Path(__file__).parents[1] / "golden/encoders.json"
LENGTH = 24
ROWS = [0, 1, 12, 23]
DIGITS = 7


# transformers' own nomic-bert reads the newer names in config.json; the tensors have the published ones
NEWER = {
    "hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4, "num_hidden_layers": 3, "head_dim": 8,
    "max_position_embeddings": 40, "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
}  # fmt: skip

# kind of model, head, what differs in config.json; nomic-bert has no span head
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    **{f"{name} {head}": (name, head, {}) for name in CONFIGS for head in ("embedding", *ENDINGS)},
    "modernbert mean": ("modernbert", "sequence", {"classifier_pooling": "mean"}),
    "modernbert one layer type": ("modernbert", "embedding", {"global_attn_every_n_layers": 1}),
    "bert one label": ("bert", "sequence", {"id2label": {"0": "x"}}),
}
del CASES["nomic_bert span"]


def inputs(name: str, vocabulary: int = 80) -> tuple[np.ndarray, np.ndarray]:
    """ids and types int32 [LENGTH]; two texts where the kind of model knows types."""
    ids = np.random.default_rng(11).integers(4, vocabulary, LENGTH, dtype=np.int32)
    types = np.zeros(LENGTH, np.int32)
    types[LENGTH // 2 :] = name in ("bert", "nomic_bert")
    return ids, types


def compute(folder: Path, name: str, head: str) -> np.ndarray:
    """Hidden states [ROWS, width], or outputs [labels] or [LENGTH, labels], by transformers in float32."""
    import torch
    import transformers

    kind = f"AutoModel{ENDINGS.get(head, '')}"
    config = NEWER if name == "nomic_bert" else {}
    model, report = getattr(transformers, kind).from_pretrained(folder, output_loading_info=True, **config)
    ignored = ("pooler.",) if head == "embedding" else ()
    missing = [key for key in report["missing_keys"] if not key.startswith(ignored)]
    assert not missing and not report["unexpected_keys"], report  # noqa: PT018
    ids, types = (torch.tensor(part[None].astype(np.int64)) for part in inputs(name))
    arguments = {} if name == "modernbert" else {"token_type_ids": types}
    with torch.no_grad():
        found = model.eval()(input_ids=ids, attention_mask=torch.ones_like(ids), **arguments)
    if head == "embedding":
        return found.last_hidden_state[0, ROWS].numpy()
    if head == "span":
        return torch.stack([found.start_logits[0], found.end_logits[0]], -1).numpy()
    return found.logits[0].numpy()


def results(folder: Path) -> Iterator[tuple[str, np.ndarray]]:
    for number, (case, (name, head, config)) in enumerate(CASES.items()):
        yield case, compute(write_encoder(folder / str(number), name, head, config), name, head)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = {case: np.round(values.astype(float), DIGITS).tolist() for case, values in results(Path(folder))}
    TARGET.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")
