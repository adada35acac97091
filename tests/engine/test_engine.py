"""The public surface of a loaded model."""

import hashlib
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import engine
from tests.models import WORDS


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> engine.Model:
    return engine.load(tiny_model)


def test_what_it_says_of_itself(model: engine.Model, tiny_model: Path) -> None:
    assert (model.dim, model.context) == (64, 128)
    assert model.sha256 == hashlib.sha256(tiny_model.read_bytes()).hexdigest()
    assert len(model.tokenizer_sha256) == 64
    facts = model.facts
    assert facts["architecture"] == "bert"
    assert facts["types"] == "F32, Q8_0"
    assert (facts["isa"], facts["threads"]) == (engine.isa(), engine.threads())
    assert {"cpu", "numpy", "numba", "llvmlite", "llvm"} <= facts.keys()
    assert facts["weights_kept"] == "yes"


def test_it_works_where_no_weights_can_be_kept(
    model: engine.Model, tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOISTER_CACHE", "/proc/self/nothing")
    other = engine.load(tiny_model)
    assert other.facts["weights_kept"] == "no"
    assert other.embed(["the lease"]).tobytes() == model.embed(["the lease"]).tobytes()


def test_nothing_gives_nothing(model: engine.Model) -> None:
    vectors = model.embed([])
    assert vectors.shape == (0, 64)
    assert vectors.dtype == np.float32
    assert model.count_tokens([]) == []


def test_tokens_are_counted_as_embed_sees_them(model: engine.Model) -> None:
    assert model.count_tokens(["", "the", "the lease", "xyz"]) == [2, 3, 4, 5]


def test_a_text_longer_than_the_context_is_named_and_never_cut(model: engine.Model) -> None:
    longest = "the " * (model.context - 2)
    assert model.embed([longest]).shape == (1, 64)
    with pytest.raises(engine.InputTooLong, match="text 1 has 129 tokens, the model takes 128"):
        model.embed(["the", longest + "the"])


def test_what_lone_surrogates_and_nul_bytes_give_is_finite(model: engine.Model) -> None:
    assert np.isfinite(model.embed(["\ud800", "\x00", "\U0010ffff", " \t\n"])).all()


def test_several_threads_of_the_caller(model: engine.Model) -> None:
    texts = [" ".join(WORDS[: n % 16]) for n in range(60)]
    expected, found = model.embed(texts).tobytes(), []
    callers = [threading.Thread(target=lambda: found.append(model.embed(texts).tobytes())) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [expected] * 4


def test_it_works_after_a_fork(tiny_model: Path) -> None:
    """No thread pool of a runtime that a fork would break: a child process can go on embedding."""
    program = (
        "import engine, os, sys\n"
        "model = engine.load(sys.argv[1]); before = model.embed(['the lease', 'a date']).tobytes()\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(0 if model.embed(['the lease', 'a date']).tobytes() == before else 3)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, tiny_model], timeout=600, check=False)
    assert done.returncode == 0
