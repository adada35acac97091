"""Run as a program: what small decoders say, as digests, in a process whose instruction set and threads are forced.

python -m tests.engine.decoder_digests FOLDER LENGTH CASE…
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.engine.digests import environment

GOLDEN = Path(__file__).parents[1] / "golden" / "numerics.json"
KINDS = {
    "llama": ["Q8_0"], "gemma2": ["F32"], "gemma3": ["Q4_0"], "qwen3moe": ["Q4_1"], "phi3 long": ["F16"],
    "qwen2": ["Q4_K", "Q5_K", "Q6_K"], "granite": ["Q5_0", "Q5_1", "Q2_K", "Q3_K", "IQ4_NL", "IQ4_XS", "BF16"],
}  # fmt: skip
LENGTH = 50  # of the prompts of golden digests
LARGE = {"hidden_size": 256, "intermediate_size": 256}  # for blocks of 256 values


def ask(folder: Path, length: int, *cases: str, **settings: str) -> dict[str, str]:
    """The digests that a process with these settings makes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.decoder_digests", folder, str(length), *cases], text=True, check=True,
        stdout=subprocess.PIPE, env=environment(**settings), cwd=Path(__file__).parents[2],
    )  # fmt: skip
    found: dict[str, str] = json.loads(done.stdout)
    return found


def main(folder: Path, length: int, cases: list[str]) -> None:
    """A prompt in two parts, the second beside a token of another sequence, with pages of either kind."""
    from engine.gguf import GgmlType, read
    from engine.gguf.types import BLOCKS
    from engine.models.decoders import load
    from tests.decoders import pieces, write_decoder

    found = {}
    for case in cases:
        kinds = [GgmlType[name] for name in KINDS[case]]
        sizes = LARGE if any(BLOCKS[kind].values > 32 for kind in kinds) else {}
        path = write_decoder(folder / f"{case}.gguf", case, *kinds, sizes=sizes)
        file = read(path)
        model, found[case] = load(file, lambda make: make()), file.sha256
        for kind in ("float16", "int8"):
            ids = np.random.default_rng(9).integers(3, len(pieces()), length + 1, dtype=np.int32)
            pages, tables = model.pages(5, kind), np.array([[4, 1], [3, 0]], np.int32)  # type: ignore[arg-type]
            at, zeros = np.arange(length, dtype=np.int32), np.zeros(length + 1, np.int32)
            half = length // 2
            first = model.step(ids[:half], at[:half], zeros[:half], tables, pages, at[half - 1 : half])
            where, which = np.append(at[half:], np.int32(0)), zeros[half:].copy()
            which[-1] = 1
            rows = np.array([0, length - half - 1, length - half], np.int32)
            rest = model.step(ids[half:], where, which, tables, pages, rows)
            found[f"{case} {kind}"] = hashlib.sha256(np.concatenate([first, rest]).tobytes()).hexdigest()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
