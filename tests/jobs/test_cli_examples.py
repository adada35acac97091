"""Bad examples are named, with their file and line, before anything is learned; vectors of examples are kept."""

import json
import shutil
from pathlib import Path

import pytest

from tests.jobs.conftest import Cloister, Place

GOOD = [("The landlord leases the flat", "lease"), ("A lease of the flat", "lease"), ("The total is due", "invoice")]
GOOD += [("The invoice is due", "invoice")]


@pytest.fixture
def sorting(ready: Place) -> Place:
    """A workspace with a job of two labels, and the folder examples/ in it."""
    (ready.root / "examples").mkdir()
    return ready


def lines(place: Place, *more: object) -> Path:
    """A JSONL file of four good examples, and what comes behind them: texts with their labels, or whole lines."""
    file = place.root / "examples" / "said.jsonl"
    said = [json.dumps({"text": one[0], "label": one[1]}) if isinstance(one, tuple) else str(one) for one in more]
    file.write_text("\n".join(said) + "\n")
    return file


def refused(place: Place, cloister: Cloister, source: Path, *told: str) -> None:
    """The examples are refused in these words, and no head is written."""
    done = cloister("learn", "sort", "--examples", source)
    assert done.code == 2, done.out
    for part in told:
        assert part in done.out + done.err
    assert not list((place.root / "models").glob("*.head"))


def test_one_class_is_not_enough(sorting: Place, cloister: Cloister) -> None:
    told = "said.jsonl: 0 different documents with the label 'invoice'", "expected: 2 at least"
    refused(sorting, cloister, lines(sorting, *GOOD[:2], ("The flat", "lease")), *told)


def test_an_example_that_came_twice_counts_once(sorting: Place, cloister: Cloister) -> None:
    file = lines(sorting, *GOOD[:3], GOOD[2])
    refused(sorting, cloister, file, "said.jsonl: 1 different documents with the label 'invoice'")


def test_an_empty_file_has_no_examples(sorting: Place, cloister: Cloister) -> None:
    refused(sorting, cloister, lines(sorting), "0 different documents with the label 'lease'")
    file = sorting.root / "examples" / "said.csv"
    file.write_text("")
    refused(sorting, cloister, file, "said.csv:1: the columns none")


@pytest.mark.parametrize("text", ["", "   ", "\n\t\n", "\\ud800"])
def test_a_text_that_says_nothing_is_named_with_its_line(text: str, sorting: Place, cloister: Cloister) -> None:
    line = json.dumps({"text": text, "label": "lease"}).replace("\\\\", "\\")
    refused(sorting, cloister, lines(sorting, *GOOD, line), "said.jsonl:5: ")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252"])
def test_a_wrong_encoding_is_named_with_its_line(encoding: str, sorting: Place, cloister: Cloister) -> None:
    file = sorting.root / "examples" / "said.csv"
    file.write_bytes("text,label\nDie Mängel,lease\nDer Vermieter,lease\n".encode(encoding))
    number = 1 if encoding == "utf-16" else 2
    refused(sorting, cloister, file, f"said.csv:{number}: the byte 0x", "which is no UTF-8", "expected: UTF-8")


def test_documents_that_cannot_be_read_are_named(sorting: Place, cloister: Cloister) -> None:
    folder = sorting.root / "examples"
    for number, (text, label) in enumerate(GOOD):
        (folder / label).mkdir(exist_ok=True)
        (folder / label / f"{number}.txt").write_text(text)
    (folder / "lease" / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing\n")
    (folder / "lease" / "empty.txt").write_text(" \n")
    refused(sorting, cloister, folder, "examples/lease/broken.pdf: ", "examples/lease/empty.txt: ")
    (folder / "lease" / "broken.pdf").unlink()
    (folder / "lease" / "empty.txt").unlink()
    (folder / "letters").mkdir()
    (folder / "letters" / "a.txt").write_text("A letter")
    refused(
        sorting, cloister, folder, "examples/letters/a.txt: the label 'letters'", "a label of the job: lease, invoice"
    )


def test_a_long_text_in_csv_is_read(sorting: Place, cloister: Cloister) -> None:
    file = sorting.root / "examples" / "said.csv"
    long = "The landlord leases the flat. " * 6000
    file.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in [*GOOD, (long, "lease")]))
    assert cloister("learn", "sort", "--examples", file, "--json").json["examples"] == 5


def test_vectors_of_examples_are_kept_and_change_nothing(sorting: Place, cloister: Cloister) -> None:
    file = lines(sorting, *[(f"{text}, number {n}", label) for n in range(20) for text, label in GOOD])
    assert cloister("learn", "sort", "--examples", file).code == 0
    head, kept = sorting.root / "models" / "sort.head", sorting.root / "state" / "vectors" / "sort.examples"
    made, vectors = head.read_bytes(), kept.read_bytes()
    for change in (lambda: None, lambda: kept.write_bytes(vectors[:-9]), lambda: shutil.rmtree(kept.parent)):
        change()
        head.unlink()
        assert cloister("learn", "sort", "--examples", file).code == 0
        assert (head.read_bytes(), kept.read_bytes()) == (made, vectors)


def test_vectors_of_label_examples_are_kept_and_change_no_row(sorting: Place, cloister: Cloister) -> None:
    job = sorting.root / "jobs" / "sort.yaml"
    examples = ", ".join(f'"The rent of flat {n} is due"' for n in range(70))
    job.write_text(job.read_text().replace('tenant"}', f'tenant", examples: [{examples}]}}'))
    kept = sorting.root / "state" / "vectors" / "sort.task"
    times = []
    for name in ("a", "b"):
        sorting.drop("sort", f"{name}.txt", f"The landlord leases the flat to the tenant.\n\n{name}\n")
        assert cloister("run", "sort").code == 0
        times.append(kept.stat().st_mtime_ns)
    assert times[0] == times[1], "they were there"
    replayed = cloister("audit", "replay", "a.txt")
    assert (replayed.code, "identical" in replayed.out) == (0, True)
    assert cloister("audit", "erase", "a.txt", "--reason", "asked for", "--archive", "--rows").code == 0
    assert not kept.parent.exists(), "the vectors of what was erased may be among them"
