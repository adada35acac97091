"""Run as a program: what a model makes of texts, as digests, in a process whose instruction set and threads are forced.

python -m tests.engine.digests MODEL.gguf [hasty] < texts.json

`hasty`: the model's activations are measured on one word, and nothing is kept; plain Python would take minutes.
"""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Digests = dict[str, Any]


def environment(**settings: str) -> dict[str, str]:
    """The environment of a process with these settings, nothing else forced."""
    clean = {name: value for name, value in os.environ.items() if name not in ("CLOISTER_ISA", "CLOISTER_THREADS")}
    return clean | settings


def ask(model: Path, texts: list[str], *options: str, **settings: str) -> Digests:
    """The digests that a process with these options and settings makes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.digests", model, *options], input=json.dumps(texts), text=True, check=True,
        stdout=subprocess.PIPE, env=environment(**settings), cwd=Path(__file__).parents[2],
    )  # fmt: skip
    digests: Digests = json.loads(done.stdout)
    return digests


def _digest(array: NDArray[Any]) -> str:
    return hashlib.sha256(array.tobytes()).hexdigest()


def outputs(model: Any, texts: list[str]) -> list[NDArray[Any]]:
    """What the model is for, of each text."""
    if model.head == "embedding":
        return list(model.embed(texts))
    if model.head == "sequence":
        return list(model.classify(texts))
    if model.head == "tokens":
        return [np.concatenate([offsets.astype(np.float32), found], 1) for offsets, found in model.tag(texts)]
    return [np.array(astuple(answer)) for answer in model.answer("the total due", texts)]


def main(model_path: str, *options: str) -> None:
    """Print the digests as JSON."""
    import engine
    import engine.models
    import engine.models.stored
    from engine.simd.vector import JIT

    if "hasty" in options:
        engine.models.TEXTS = ("the",)
        engine.models.stored.weights_folder = lambda: None
    model, texts = engine.load(model_path), json.load(sys.stdin)
    each = outputs(model, texts)
    digests = {
        "isa": engine.isa(),
        "threads": engine.threads(),
        "compiled": JIT,
        "each": [_digest(values) for values in each],
        "alone": [_digest(outputs(model, [text])[0]) for text in texts],
        "reversed": [_digest(values) for values in outputs(model, texts[::-1])[::-1]],
    }
    if model.head == "embedding":
        vectors = np.array(each)
        scores = engine.similarity(vectors, vectors[: len(texts) // 2 + 1])
        digests |= {"similarity": _digest(scores), "softmax": _digest(engine.softmax(scores, 20.0))}
    print(json.dumps(digests))


if __name__ == "__main__":
    main(*sys.argv[1:])
