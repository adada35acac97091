"""`cloister review accept`, `correct`, `reject`: a person decides on rows from a terminal."""

import json
import shlex
from pathlib import Path

from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place, entries, held
from tests.pages import blocks


def run(ready: Place, cloister: Cloister) -> dict[str, int]:
    """Rows by their paths, of a job that has run."""
    ready.drop("sort", "lease.txt", LEASE)
    ready.drop("sort", "invoice.txt", INVOICE)
    assert cloister("run", "sort").code == 0
    return rows(cloister)


def rows(cloister: Cloister) -> dict[str, int]:
    return {row["path"]: row["audit_index"] for row in cloister("results", "sort", "--json").json}


def test_the_commands_of_the_page(ready: Place, cloister: Cloister) -> None:
    (block,) = blocks("pipeline/review/README.md", "text")
    found = run(ready, cloister)
    accepted, corrected, rejected = [shlex.split(line.removeprefix("$ ")) for line in block.splitlines()]
    for command, path in ((accepted, "lease.txt"), (corrected, "lease.txt"), (rejected, "invoice.txt")):
        assert command[0] == "cloister"
        label = next(row["label"] for row in cloister("results", "sort", "--json").json if row["path"] == "lease.txt")
        other = "invoice" if label == "lease" else "lease"
        command[3] = str(rows(cloister)[path])
        arguments = [other if each == "complaint" else each for each in command[1:]]
        done = cloister(*arguments[: arguments.index("--workspace")])
        assert done.code == 0, done.err
        assert f"takes the place of entry {command[3]}" in done.out
    told = cloister("results", "sort").out
    assert "corrected by Ada Byron: it asks for its money back" in " ".join(told.split())
    assert "rejected by Ada Byron: a blank form" in " ".join(told.split())
    assert "decided by" not in told
    assert "1 rejected, by people" in cloister("status").out
    shown = cloister("audit", "show", "invoice.txt").out
    assert "rejected by Ada Byron at 20" in shown
    assert cloister("audit", "verify").code == 0
    assert found.keys() == rows(cloister).keys()


def test_while_the_log_is_held_it_waits(ready: Place, cloister: Cloister) -> None:
    found = run(ready, cloister)
    assert cloister("review", "accept", found["lease.txt"], "--as", "Ada").code == 0
    with held(ready):
        done = cloister("review", "reject", found["invoice.txt"], "--as", "Bob", "--json")
        assert (done.code, done.json["waits"], done.json["entry"]) == (0, True, None)
    ready.drop("sort", "new.txt", "Another lease of a flat.")
    assert cloister("run", "sort").code == 0
    decided = [entry["review"]["by"] for entry in entries(ready, "document") if "review" in entry]
    assert decided == ["Ada", "Bob"]


def test_what_cannot_be_decided_is_said_in_a_sentence(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    found = run(ready, cloister)
    row = str(found["lease.txt"])
    wrong = {
        ("accept", "0", "--as", "Ada"): "no row of the results",
        ("accept", "999", "--as", "Ada"): "no entry 999",
        ("accept", row, "--as", " "): "--as: is empty",
        ("reject", row, "--as", "Ada", "--reason", ""): "--reason: is empty",
        ("correct", row, "--as", "Ada"): "expected: --label, --summary, or --field and --absent",
        ("correct", row, "--as", "Ada", "--label", "letter"): "no label 'letter' when it made this row",
        ("correct", row, "--as", "Ada", "--field", "total"): "expected: NAME=VALUE",
        ("correct", row, "--as", "Ada", "--field", "total=1"): "says 'label' and nothing else",
        ("correct", row, "--as", "Ada", "--at", "total=1:2"): "a place without a value",
        ("correct", row, "--as", "Ada", "--field", "a=1", "--at", "a=x"): "expected: NAME=START:END",
        ("correct", row, "--as", "Ada", "--field", "a=1", "--absent", "a"): "a has a value, too",
    }
    for arguments, told in wrong.items():
        done = cloister("review", *arguments)
        assert (done.code, told in done.err) == (2, True), (arguments, done.err)
        assert "Traceback" not in done.err
    assert rows(cloister) == found
    assert json.loads(cloister("review", "accept", row, "--as", "Ada", "--json").out)["entry"] > found["lease.txt"]
    again = cloister("review", "accept", row, "--as", "Bob")
    assert (again.code, "Ada accepted it, as entry" in again.err) == (2, True)
