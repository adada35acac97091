"""What transformers computes with the small random decoders, kept in a file: `python -m tests.reference.make_decoders`.

Needs torch and transformers. tests/reference/test_decoders.py compares the references with the file.
"""

import json
import tempfile
from pathlib import Path

import numpy as np

from tests.decoders import CASES, pieces, write_folder

TARGET = Path(__file__).parents[1] / "golden/decoders.json"
LENGTH, DIGITS = 45, 5
ROWS, EVERY = [0, 13, 44], 9
"""Of the logits these rows and every ninth column are kept."""


def inputs() -> np.ndarray:
    """int32 [LENGTH]"""
    return np.random.default_rng(3).integers(3, len(pieces()), LENGTH, dtype=np.int32)


def compute(folder: Path) -> np.ndarray:
    """Logits [ROWS, vocab / EVERY] by transformers in float32."""
    import torch
    import transformers

    model, report = transformers.AutoModelForCausalLM.from_pretrained(
        folder, output_loading_info=True, attn_implementation="eager", dtype=torch.float32
    )
    assert not report["missing_keys"] and not report["unexpected_keys"], report  # noqa: PT018
    with torch.no_grad():
        found = model.eval()(input_ids=torch.tensor(inputs()[None].astype(np.int64)))
    return found.logits[0, ROWS, ::EVERY].numpy()


if __name__ == "__main__":
    kept = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES):
            values = compute(write_folder(Path(folder) / str(number), case)).astype(float)
            kept[case] = np.round(values, DIGITS).tolist()
    TARGET.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in kept.items()) + "\n}\n")
