"""`cloister check`: what it tells of models, and of what reads pictures."""

import numpy as np
import pytest

from engine.gguf import read
from tests.encoders import write_encoder
from tests.jobs.conftest import LEASE, SORT, Cloister, Place


@pytest.mark.parametrize("head", ["sequence", "tokens", "span"])
def test_check_tells_that_a_model_has_another_purpose(ready: Place, cloister: Cloister, head: str) -> None:
    cloister("model", "import", write_encoder(ready.root / "hf", "bert", head), "--name", "other")
    ready.job("sort", SORT.replace("name: tiny", "name: other"))
    model = ready.root / "models" / "other.gguf"
    needed = "the task classify needs one that gives embeddings or writes text"
    hint = "; write labels: from_model into the task to use the model's own labels" if head == "sequence" else ""
    refusal = f"model other: {model} has the head '{head}'; {needed}{hint}"
    done = cloister("check", "sort")
    assert (done.code, done.out) == (3, f"sort: model refused: {refusal}\n")
    assert cloister("check", "sort", "--json").json["jobs"][0]["refusal"] == refusal
    assert refusal in cloister("run", "sort").err  # also with nothing to do


def test_check_tells_of_weights_that_are_no_numbers(ready: Place, cloister: Cloister) -> None:
    model = ready.root / "models" / "tiny.gguf"
    name, content = "blk.0.ffn_up.weight", bytearray(model.read_bytes())
    scale = content.index(read(model).tensors[name].data.tobytes())
    content[scale : scale + 2] = np.float16(np.inf).tobytes()
    model.write_bytes(content)
    refusal = f"model tiny: {model}: {name} holds values that are not finite"
    done = cloister("check", "sort")
    assert (done.code, done.out) == (3, f"sort: model refused: {refusal}\n")
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("run", "sort")
    assert done.code == 3
    assert refusal in done.err
    assert ready.parts("sort") == []
    done = cloister("model", "import", model, "--name", "copied")
    assert (done.code, done.err) == (3, f"Model refused: {model}: {name} holds values that are not finite\n")
    assert not (ready.root / "models" / "copied.gguf").exists()


def test_check_tells_that_the_engine_does_not_compute_a_model(ready: Place, cloister: Cloister) -> None:
    model = ready.root / "models" / "tiny.gguf"
    model.write_bytes(model.read_bytes().replace(b"\4\0\0\0\0\0\0\0bert", b"\4\0\0\0\0\0\0\0gpt2", 1))
    done = cloister("check", "sort")
    assert done.code == 3
    assert "sort: model refused: model tiny: " in done.out
    assert "architecture 'gpt2', expected one of bert, " in done.out


def test_check_tells_everything_at_once(ready: Place, cloister: Cloister) -> None:
    ready.job("pinned", SORT.replace("name: tiny", f"name: tiny, sha256: {'0' * 64}"))
    ready.job("absent", SORT.replace("name: tiny", "name: absent"))
    ready.job("wrong", SORT.replace("threshold: 0.0", "threshold: 2"))
    done = cloister("check", "sort", "pinned", "absent", "wrong", "srt")
    assert done.code == 3
    for words in (
        "sort: in order",
        "pinned: model refused",
        "absent: model refused",
        "jobs/wrong.yaml:6:14",
        "did you mean 'sort'",
    ):
        assert words in done.out
    assert cloister("check", "sort", "wrong").code == 2


def test_check_tells_what_reads_pictures(ready: Place, cloister: Cloister) -> None:
    ready.job("sort", SORT)
    assert "off: pictures of text fail as needs_ocr" in cloister("check", "sort").out
    ready.job("sort", SORT.replace("ocr: off", "ocr: {{languages: [xyz]}}"))
    (job,) = cloister("check", "sort", "--json").json["jobs"]
    assert job["plan"]["ocr"].endswith(": pictures of text fail as needs_ocr")


def test_where_there_is_no_job_the_remedy_makes_one(place: Place, cloister: Cloister) -> None:
    done = cloister("run", "letters")
    assert done.code == 2
    assert (
        "no job 'letters'\n    expected: a file in jobs, which holds none\n    remedy:   cloister new letters"
        in done.err
    )
