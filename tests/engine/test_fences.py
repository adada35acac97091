"""A forward pass touches no memory but its arrays, and nothing that an earlier text left behind changes a bit."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import engine
from engine.compiling import FOLDER
from tests.encoders import write_encoder
from tests.engine.digests import environment
from tests.engine.isas import COMPARED, need
from tests.models import write_bert_folder

SHAPES: list[dict[str, int]] = [
    {},
    {"width": 60, "inner": 100, "heads": 5},
    {"width": 128, "inner": 64, "heads": 1, "layers": 1},
    {"width": 160, "inner": 700, "heads": 2, "layers": 1},
]
ENCODERS = [("bert", "tokens"), ("nomic_bert", "sequence"), ("modernbert", "embedding"), ("modernbert", "span")]
TYPES: list[Any] = ["q8_0", "f32"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, found = tmp_path_factory.mktemp("fences"), []
    sources = [write_bert_folder(folder / str(number), context=600, **shape) for number, shape in enumerate(SHAPES)]
    for name, head in ENCODERS:
        context = "max_trained_positions" if name == "nomic_bert" else "max_position_embeddings"
        sources.append(write_encoder(folder / f"{name} {head}", name, head, {context: 600}))
    for source in sources:
        for kind in TYPES:
            found.append(folder / f"{source.name}-{kind}.gguf")
            engine.import_model(source, found[-1], file_type=kind, name="m")
    return found


def run(models: list[Path], **settings: str) -> list[str]:
    """A digest of each model, the same with fences on either side."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.fences", *models], text=True, capture_output=True, check=False,
        env=environment(**settings), cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == len(models)
    assert all(end == begin for end, begin in lines)
    return [end for end, _ in lines]


@pytest.fixture(scope="module")
def digests(models: list[Path]) -> list[str]:
    return run(models)


@pytest.mark.parametrize("isa", COMPARED)
def test_every_instruction_set(isa: str, models: list[Path], digests: list[str]) -> None:
    need(isa)
    if engine.isa() == isa:
        pytest.skip("this is what all are compared with")
    assert run(models, CLOISTER_ISA=isa) == digests


@pytest.mark.usefixtures("digests")
def test_what_is_kept_is_compiled_for_one_type_of_arguments() -> None:
    """Of every architecture: numba's cache is safe for processes that compile at the same time only then."""
    kept = {path.name for path in FOLDER.rglob("*.nbc")}
    assert {"bert.encode", "nomic_bert.encode", "modern_bert.encode"} <= {name.partition("-")[0] for name in kept}
    assert {name for name in kept if not name.endswith(".1.nbc")} == set()


@pytest.mark.parametrize(("side", "beyond"), [("end", 64), ("begin", -1)])
def test_a_fence_stops_who_crosses_it(side: str, beyond: int) -> None:
    program = (
        "import ctypes, numpy as np, sys\n"
        "from tests.engine.fences import fenced\n"
        "x = fenced(np.ones(64, np.uint8), sys.argv[1])\n"
        "ctypes.string_at(x.ctypes.data, 64)\n"
        "ctypes.string_at(x.ctypes.data + int(sys.argv[2]), 1)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, side, str(beyond)], check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == -signal.SIGSEGV
