"""Models with a head of their own answer jobs: check, run, results, verify and replay, as the engine itself answers."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import engine
from tests.encoders import write_encoder
from tests.jobs.conftest import Cloister, Place, entries

LETTER = "The lease of the tenant. Total due is 17 on the date.\n"
JOB = """\
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model: {{name: own}}
task: TASK
"""
CLASSIFY = "{type: classify, labels: from_model, threshold: 0}"
ENTITIES = "{type: extract, fields: from_model}"
NAMED = "{type: extract, fields: [{name: who, entity: PER}, {name: n, entity: ORG, type: number}]}"
ANSWER = "{type: extract, fields: [{name: who, description: who pays?}, {name: total, type: number}]}"
BIO = {"id2label": {str(i): label for i, label in enumerate(["O", "B-PER", "I-PER", "B-ORG", "I-ORG"])}}

Own = Callable[..., engine.Model]


@pytest.fixture
def own(place: Place, cloister: Cloister) -> Own:
    """own(head, task): a workspace whose job `own` has a random model with this head; `config` changes config.json."""

    def make(head: str, task: str, name: str = "bert", **config: Any) -> engine.Model:
        folder = write_encoder(place.root / "hf", name, head, config)
        assert cloister("model", "import", folder, "--name", "own", "--type", "f32").code == 0
        place.job("own", JOB.replace("TASK", task.replace("{", "{{").replace("}", "}}")))
        return engine.load(place.root / "models" / "own.gguf")

    return make


def run(place: Place, cloister: Cloister, text: str) -> dict[str, Any]:
    """The row of a document with this text; the log is verified, and the row computed again."""
    checked = cloister("check", "own")
    assert checked.code == 0, checked.out
    place.drop("own", "letter.txt", text)
    done = cloister("run", "own")
    assert done.code == 0, done.err
    row: dict[str, Any]
    (row,) = cloister("results", "own", "--json").json
    assert cloister("audit", "verify").code == 0
    replayed = cloister("audit", "replay", "letter.txt")
    assert (replayed.code, "1 identical" in replayed.out) == (0, True), replayed.out
    return row


@pytest.mark.parametrize("scores", ["single_label_classification", "multi_label_classification"])
def test_classify(place: Place, cloister: Cloister, own: Own, scores: str) -> None:
    model = own("sequence", CLASSIFY, problem_type=scores)
    row = run(place, cloister, LETTER)
    expected = dict(zip(model.labels, model.classify([LETTER.strip()])[0].tolist(), strict=True))
    assert {one["label"]: one["score"] for one in row["scores"]} == pytest.approx(expected, abs=6e-7)
    assert (row["label"], row["score"]) == (row["scores"][0]["label"], row["scores"][0]["score"])
    assert row["evidence"][0]["text"] == LETTER.strip()
    (kept,) = entries(place, "settings")
    said = {"type": "classify", "labels": "from_model", "threshold": 0.0, "calibrate": False}
    assert json.loads(kept["text"])["task"] == said
    assert "classify as the model does" in cloister("check", "own").out


def test_a_long_document_is_classified_by_windows(place: Place, cloister: Cloister, own: Own) -> None:
    model = own("sequence", CLASSIFY.replace("threshold: 0", "threshold: 1"))
    row = run(place, cloister, " ".join([LETTER.strip()] * 9))
    assert (row["state"], row["label"]) == ("abstained", None)
    assert "less than 1" in row["reason"]
    assert len(row["chunks"]) > 3
    assert len(row["evidence"]) == 3
    tokens = model.count_tokens([one["text"] for one in row["evidence"]])
    assert all(count <= model.context for count in tokens)


def test_entities(place: Place, cloister: Cloister, own: Own) -> None:
    model = own("tokens", ENTITIES, **BIO)
    row = run(place, cloister, LETTER)
    ((offsets, shares),) = model.tag([LETTER.strip()])
    labels = [model.labels[best] for best in shares.argmax(1)]
    starts = [int(start) for (start, _), label in zip(offsets, labels, strict=True) if label.startswith("B-")]
    found = [field for field in row["fields"] if field["value"]]
    assert {field["name"] for field in row["fields"]} == {"PER", "ORG"}
    assert found, "the weights of the test give no entity: choose another seed"
    for field in found:
        begin, end = field["evidence"]["start"], field["evidence"]["end"]
        assert LETTER[begin:end] == field["verbatim"]
        assert labels[[start for start, _ in offsets.tolist()].index(begin)][2:] == field["name"]
        assert 0 < field["score"] <= 1
    assert {field["value"].casefold() for field in found} <= {LETTER[s:].split()[0].casefold() for s in starts} | {
        field["value"].casefold() for field in found
    }
    assert f"{found[0]['name']} = {found[0]['value']}" in cloister("results", "own").out


def test_fields_by_entity(place: Place, cloister: Cloister, own: Own) -> None:
    own("tokens", NAMED, **BIO)
    row = run(place, cloister, LETTER)
    assert [(field["name"], field["type"]) for field in row["fields"]] == [("who", "text"), ("n", "number")]
    (kept,) = entries(place, "settings")
    assert [field["entity"] for field in json.loads(kept["text"])["task"]["fields"]] == ["PER", "ORG"]


@pytest.mark.parametrize("name", ["bert", "xlm-roberta", "modernbert"])
def test_questions(place: Place, cloister: Cloister, own: Own, name: str) -> None:
    longer = {"max_position_embeddings": 160} if name == "modernbert" else {}
    model = own("span", ANSWER, name, **longer)
    row = run(place, cloister, LETTER)
    who, total = row["fields"]
    (answer,) = model.answer("who pays?", [LETTER.strip()])
    if answer.found:
        assert who["verbatim"] == LETTER[answer.start : answer.end]
        assert who["score"] == pytest.approx(answer.score, abs=6e-7)
    else:
        assert (who["value"], who["note"]) == (None, "the model finds no answer")
        assert who["score"] == pytest.approx(answer.no_answer, abs=6e-7)
    assert total["value"] is None or total["verbatim"].isdigit()


def test_a_copy_of_the_file_is_imported_and_listed(place: Place, cloister: Cloister, own: Own) -> None:
    own("tokens", ENTITIES, **BIO)
    copied = cloister("model", "import", place.root / "models" / "own.gguf", "--name", "copy", "--json")
    assert copied.code == 0
    uses = {model["name"]: model["use"] for model in cloister("model", "list", "--json").json}
    assert uses == {"own": "extract entities", "copy": "extract entities"}
    assert "B-PER" in cloister("check", "own").out


PLAIN = "{type: classify, labels: [{name: a}, {name: b}]}"


@pytest.mark.parametrize(
    ("head", "task", "config", "message"),
    [
        ("sequence", PLAIN, {}, "has the head 'sequence'; the task classify needs one that gives embeddings or writes "
         "text; write labels: from_model into the task to use the model's own labels"),
        ("embedding", CLASSIFY, {}, "the task classify with labels: from_model needs one that classifies texts"),
        ("tokens", CLASSIFY, BIO, "the task classify with labels: from_model needs one that classifies texts"),
        ("tokens", ANSWER, BIO, "needs one that gives embeddings or writes text or answers questions by a span of a "
         "text; write fields: from_model into the task, or the entity of each field"),
        ("span", ENTITIES, {}, "the task extract with fields: from_model needs one that tags tokens"),
        ("span", NAMED, {}, "the task extract with entities of its fields needs one that tags tokens"),
        ("tokens", ENTITIES, {}, "its head has the labels label 0, label 1, label 2, none of which is O"),
        ("tokens", NAMED.replace("ORG", "DATE"), BIO, "its head finds no entity 'DATE', only PER, ORG"),
        ("sequence", CLASSIFY, {"problem_type": "regression"}, "its head computes numbers"),
        ("sequence", CLASSIFY, {"id2label": {"0": "x"}}, "its head has 1 label, expected at least 2"),
        ("sequence", CLASSIFY, {"id2label": {"0": "x", "1": "x"}}, "its head has the label 'x' twice"),
        ("sequence", CLASSIFY[:-1] + ", calibrate: true}", {}, "task.calibrate is for models that write text"),
        ("span", "{type: summarize, sentences: 2}", {}, "the task summarize needs one that gives embeddings or writes"),
        ("span", ANSWER.replace("who pays?", "who " * 40), {}, "the question of the field who has"),
        ("span", ANSWER.replace("who pays?", "who pays?, many: true"), {}, "many of the field who is for models that"),
        ("tokens", NAMED.replace("PER", "PER, threshold: 0.9"), BIO, "is for models that give embeddings or write"),
    ],
)  # fmt: skip
def test_what_is_refused(
    place: Place, cloister: Cloister, own: Own, head: str, task: str, config: dict[str, Any], message: str
) -> None:
    own(head, task, **config)
    place.drop("own", "letter.txt", LETTER)
    checked, done = cloister("check", "own"), cloister("run", "own")
    if "the question of" not in message:
        assert (checked.code, message in checked.out) == (3, True), checked.out
    assert (done.code, message in done.err) == (3, True), done.err
    assert place.parts("own") == []
    assert (place.root / "inbox" / "own" / "letter.txt").exists()


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("{type: classify, labels: from_file}", "'from_file'"),
        ("{type: classify, labels: []}", "at least 2"),
        (
            "{type: extract, fields: [{name: a, entity: PER}, {name: b}]}",
            "a field without an entity beside fields with",
        ),
    ],
)
def test_mistakes_in_the_file(place: Place, cloister: Cloister, task: str, message: str) -> None:
    place.job("own", JOB.replace("TASK", task.replace("{", "{{").replace("}", "}}")))
    told = cloister("check", "own")
    assert (told.code, message in told.out) == (2, True), told.out
    assert "own.yaml:4:" in told.out


def test_no_head_is_learned_for_labels_of_a_model(place: Place, cloister: Cloister, own: Own, tmp_path: Path) -> None:
    own("sequence", CLASSIFY)
    (tmp_path / "e.csv").write_text("label,text\na,b\n")
    told = cloister("learn", "own", "--examples", tmp_path / "e.csv")
    assert (told.code, "labels: from_model are of the model" in told.err) == (3, True), told.err
