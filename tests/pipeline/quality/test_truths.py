"""Evaluation examples are read in all their forms, and what is wrong is named with its line."""

from pathlib import Path

import pytest

from pipeline.quality.documents import eval_digest, read_truths
from pipeline.tasks import AskSettings, ClassifySettings, ExtractSettings, Field, Label, SummarizeSettings, Task
from pipeline.tasks.examples import ExamplesRefusedError

SORT = ClassifySettings(labels=(Label("lease"), Label("invoice")))
FIND = ExtractSettings(fields=(Field("total", "money"), Field("until", "date")))
SUM = SummarizeSettings(sentences=1)


def file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_fields_in_jsonl(tmp_path: Path) -> None:
    file(tmp_path, "a.txt", "Total EUR 5")
    source = file(
        tmp_path,
        "eval.jsonl",
        '{"text": "Total EUR 5", "fields": {"total": ["EUR 5", "5.00"], "until": null}}\n\n'
        '{"document": "a.txt", "fields": {"total": 5}}\n',
    )
    first, second = read_truths(source, FIND)
    assert (first.taught, first.place) == ({"total": ("EUR 5", "5.00"), "until": ()}, f"{source}:1")
    assert (second.taught, second.path) == ({"total": ("5",)}, tmp_path / "a.txt")


def test_fields_in_csv_are_columns(tmp_path: Path) -> None:
    source = file(tmp_path, "eval.csv", 'text,until,total\n"one, two",2026-01-01,\nthree,,EUR 5\n')
    first, second = read_truths(source, FIND)
    assert (first.taught, first.text) == ({"until": ("2026-01-01",), "total": ()}, "one, two")
    assert second.taught == {"until": (), "total": ("EUR 5",)}


def test_summaries(tmp_path: Path) -> None:
    source = file(tmp_path, "eval.jsonl", '{"text": "a", "summary": ["b", "c"]}\n{"text": "d", "summary": "e"}\n')
    assert [one.taught for one in read_truths(source, SUM)] == [("b", "c"), ("e",)]
    source = file(tmp_path, "eval.csv", "text,summary\na,b\n")
    assert [one.taught for one in read_truths(source, SUM)] == [("b",)]


WRONG: dict[str, tuple[Task, str, str | bytes, str]] = {
    "label": (SORT, "e.csv", "text,label\na,lease\nb,lodger\n", "e.csv:3: the label 'lodger'"),
    "one class": (SORT, "e.csv", "text,label\na,lease\nb,lease\n", "only the label 'lease', of 2 examples"),
    "own labels": (
        ClassifySettings(labels=()),
        "e.csv",
        "text,label\na,POSITIVE\n",
        "a job whose answers are from_model",
    ),
    "own fields": (ExtractSettings(fields=()), "e.csv", "text,PER\na,b\n", "a job whose answers are from_model"),
    "no lines": (SORT, "e.csv", "text,label\n", "e.csv: no examples"),
    "empty": (FIND, "e.jsonl", "", "e.jsonl: no examples"),
    "field": (FIND, "e.jsonl", '{"text": "a", "fields": {"sum": "1"}}\n', "e.jsonl:1: the field 'sum'"),
    "no fields": (FIND, "e.jsonl", '{"text": "a", "fields": {}}\n', "e.jsonl:1: no fields"),
    "a value": (FIND, "e.jsonl", '{"text": "a", "fields": {"total": {}}}\n', "the value {} of the field 'total'"),
    "columns": (FIND, "e.csv", "text,sum\na,1\n", "e.csv:1: the columns text, sum"),
    "both": (SUM, "e.jsonl", '{"text": "a", "document": "b", "summary": "c"}\n', "e.jsonl:1: summary, text, document"),
    "no text": (SUM, "e.jsonl", '{"text": " ", "summary": "c"}\n', "e.jsonl:1: a text that says nothing"),
    "no file": (SUM, "e.jsonl", '{"document": "b.txt", "summary": "c"}\n', "e.jsonl:1: there is no file"),
    "no summary": (SUM, "e.jsonl", '{"text": "a", "summary": " "}\n', "e.jsonl:1: the summary ' '"),
    "no JSON": (SUM, "e.jsonl", '{"text": "a", "summary": "b"}\n{"text\n[]\n', "e.jsonl:2: no JSON"),
    "a list": (SUM, "e.jsonl", "[]\n", "e.jsonl:1: a JSON list"),
    "encoding": (SUM, "e.csv", b"text,summary\na,b\nM\xfcller,c\n", "e.csv:3: the byte 0xfc, which is no UTF-8"),
    "another task": (AskSettings(question="why?"), "e.csv", "text,label\na,b\n", "the job has another task"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(name: str, tmp_path: Path) -> None:
    task, source, text, told = WRONG[name]
    with pytest.raises(ExamplesRefusedError) as refused:
        read_truths(file(tmp_path, source, text), task)
    assert told in str(refused.value)


def test_a_folder_has_labels_only(tmp_path: Path) -> None:
    with pytest.raises(ExamplesRefusedError, match="a folder"):
        read_truths(tmp_path, SUM)
    with pytest.raises(ExamplesRefusedError, match="there is no such file"):
        read_truths(tmp_path / "none.csv", SUM)


def test_the_digest_covers_the_file_and_the_documents_it_names(tmp_path: Path) -> None:
    document = file(tmp_path, "a.txt", "one")
    source = file(tmp_path, "eval.jsonl", '{"document": "a.txt", "summary": "c"}\n')
    truths = read_truths(source, SUM)
    first = eval_digest(source, truths)
    document.write_text("two")
    second = eval_digest(source, truths)
    file(tmp_path, "eval.jsonl", '{"document": "a.txt", "summary": "d"}\n')
    third = eval_digest(source, truths)
    assert len({first, second, third}) == 3
    document.write_text("one")
    file(tmp_path, "eval.jsonl", '{"document": "a.txt", "summary": "c"}\n')
    assert eval_digest(source, truths) == first


def test_the_digest_of_a_folder_is_of_its_documents_and_labels(tmp_path: Path) -> None:
    for label in ("lease", "invoice"):
        (tmp_path / label).mkdir()
        file(tmp_path / label, "a.txt", label)
    first = eval_digest(tmp_path, read_truths(tmp_path, SORT))
    (tmp_path / "lease" / "a.txt").rename(tmp_path / "invoice" / "b.txt")
    file(tmp_path / "lease", "c.txt", "c")
    assert eval_digest(tmp_path, read_truths(tmp_path, SORT)) != first


def test_documents_are_named_from_the_root_too(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    lease, invoice = file(elsewhere, "a.txt", "a lease"), file(elsewhere, "b.txt", "an invoice")
    source = file(tmp_path, "eval.csv", f"document,label\n{lease},lease\n../{tmp_path.name}/elsewhere/b.txt,invoice\n")
    before = eval_digest(source, read_truths(source, SORT))
    invoice.write_text("another invoice")
    assert eval_digest(source, read_truths(source, SORT)) != before
