"""`cloister model rollback`: a job goes back to the bytes that it used before, and its file keeps every other byte."""

import hashlib
import shutil
from pathlib import Path

from tests.jobs.conftest import INVOICE, LEASE, Cloister, Place, entries, finished
from tests.jobs.test_cli_learn import examples, pin, sorting
from tests.models import write_bert_folder

__all__ = ["examples", "sorting"]  # fixtures

WHY = ("--reason", "the new one is worse", "--by", "Ada")
JOB = """\
# triage of letters
job: {name}
input: {{settle_seconds: 0, afterwards: {afterwards}}}
model:
  name: tiny   # chosen in May
task:
  type: classify  # two labels
  threshold: 0.0
  labels:
    - {{name: lease, description: "a lease of a flat: landlord, tenant"}}
    - {{name: invoice, description: "an invoice: total due"}}
"""


def sha256_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@finished
def replaced(ready: Place, cloister: Cloister, tmp_path: Path) -> Place:
    """A workspace whose job ran with a model, and after that with another one of the same name."""
    ready.job("sort", JOB)
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    folder = write_bert_folder(tmp_path / "hf", seed=5)
    told = cloister("model", "import", folder, "--name", "tiny", "--type", "q8_0")
    assert "kept as tiny." in told.out
    ready.drop("sort", "invoice.txt", INVOICE)
    assert cloister("run", "sort").code == 0
    return ready


def test_a_job_goes_back_and_its_file_keeps_every_other_byte(
    replaced: Place, cloister: Cloister, tiny_model: Path
) -> None:
    models, job = replaced.root / "models", replaced.root / "jobs" / "sort.yaml"
    job.chmod(0o640)
    first, second = sha256_of(tiny_model), sha256_of(models / "tiny.gguf")
    before = job.read_text()
    done = cloister("model", "rollback", "sort", *WHY)
    assert (done.code, done.err) == (0, "")
    name = f"tiny.{first[:12]}"
    assert sha256_of(models / f"{name}.gguf") == first
    expected = before.replace("  name: tiny   #", f'  sha256: "{first}"\n  name: "{name}"   #')
    assert job.read_text() == expected
    assert job.stat().st_mode & 0o777 == 0o640
    (entry,) = entries(replaced, "job.rolled_back")
    assert entry["before"] == {"model": "tiny", "sha256": second, "head": None, "head_sha256": None}
    assert entry["after"] == {"model": name, "sha256": first, "head": None, "head_sha256": None}
    assert (entry["job"], entry["by"], entry["reason"]) == ("sort", "Ada", "the new one is worse")
    replaced.drop("sort", "another.txt", LEASE + "Another one.")
    assert cloister("run", "sort").code == 0
    assert entries(replaced, "document")[-1]["model_sha256"] == first
    assert cloister("audit", "verify").code == 0
    assert cloister("audit", "replay", "--sample", "100%").code == 0


def test_the_same_way_leads_on_and_a_sha256_leads_anywhere(replaced: Place, cloister: Cloister) -> None:
    job, second = replaced.root / "jobs" / "sort.yaml", sha256_of(replaced.root / "models" / "tiny.gguf")
    assert cloister("model", "rollback", "sort", *WHY).code == 0
    assert cloister("model", "rollback", "sort", "--to", second[:8], *WHY).code == 0
    assert f'sha256: "{second}"' in job.read_text()
    assert 'name: "tiny"   # chosen in May' in job.read_text()
    for wrong in ("xyz", "abc12"):
        assert cloister("model", "rollback", "sort", "--to", wrong, *WHY).code == 2
    nothing = cloister("model", "rollback", "sort", "--to", "0" * 12, *WHY)
    assert (nothing.code, "no run of sort began with a model or head whose sha256" in nothing.err) == (2, True)


def test_what_was_revoked_is_passed_over(replaced: Place, cloister: Cloister, tiny_model: Path) -> None:
    job, text = replaced.root / "jobs" / "sort.yaml", JOB.format(name="sort", afterwards="archive")
    name = f"tiny.{sha256_of(tiny_model)[:12]}"
    assert cloister("model", "revoke", name, "--reason", "leaky").code == 0
    refused = cloister("model", "rollback", "sort", *WHY)
    assert (refused.code, "that may be used: model tiny: " in refused.err, "leaky" in refused.err) == (2, True, True)
    assert job.read_text() == text
    assert entries(replaced, "job.rolled_back") == []


def test_a_file_that_is_gone_is_named(replaced: Place, cloister: Cloister, tiny_model: Path) -> None:
    job, first = replaced.root / "jobs" / "sort.yaml", sha256_of(tiny_model)
    kept = replaced.root / "models" / f"tiny.{first[:12]}.gguf"
    kept.rename(replaced.root / "away.gguf")
    before = job.read_bytes()
    refused = cloister("model", "rollback", "sort", *WHY)
    assert (refused.code, f"models/tiny.gguf as it was then (sha256 {first}) is gone" in refused.err) == (3, True)
    assert job.read_bytes() == before
    shutil.move(replaced.root / "away.gguf", replaced.root / "models" / "found.gguf")
    assert cloister("model", "rollback", "sort", *WHY).code == 0
    assert 'name: "found"' in job.read_text()


def test_a_job_that_used_one_model_has_nothing_to_go_back_to(ready: Place, cloister: Cloister) -> None:
    nothing = cloister("model", "rollback", "sort", *WHY)
    assert (nothing.code, "no run of sort began with another model or head" in nothing.err) == (2, True)
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    assert cloister("model", "rollback", "sort", *WHY).code == 2
    assert cloister("model", "rollback", "sort", "--reason", " ").code == 2


def test_a_file_that_cannot_be_changed_without_a_doubt_is_left_and_nothing_is_recorded(
    replaced: Place, cloister: Cloister
) -> None:
    job = replaced.root / "jobs" / "sort.yaml"
    text = job.read_text().replace("name: tiny   # chosen in May", "name: >-\n    tiny")
    job.write_text(text)
    refused = cloister("model", "rollback", "sort", *WHY)
    assert (refused.code, "write into model: name: " in refused.err) == (2, True)
    assert job.read_text() == text
    assert entries(replaced, "job.rolled_back") == []


def test_a_head_comes_and_goes(sorting: Place, cloister: Cloister, examples: Path) -> None:
    job, models = sorting.root / "jobs" / "sort.yaml", sorting.root / "models"
    plain = job.read_text()
    sorting.drop("sort", "a.txt", "The landlord and the tenant.\n")
    assert cloister("run", "sort").code == 0
    first = pin(sorting, cloister("learn", "sort", "--examples", examples).out)
    sorting.drop("sort", "b.txt", "The total is due.\n")
    assert cloister("run", "sort").code == 0
    with examples.open("a") as more:
        more.write("The landlord and the lease,lease\n")
    learned = cloister("learn", "sort", "--examples", examples).out
    job.write_text(plain)
    second = pin(sorting, learned)
    sorting.drop("sort", "c.txt", "The report.\n")
    assert cloister("run", "sort").code == 0
    back = cloister("model", "rollback", "sort", *WHY, "--json").json
    assert (back["before"]["head_sha256"], back["after"]["head_sha256"]) == (second, first)
    assert back["after"]["head"] == f"sort.{first[:12]}"
    assert sha256_of(models / f"sort.{first[:12]}.head") == first
    assert cloister("check", "sort").code == 0
    assert cloister("model", "revoke", f"sort.{first[:12]}", "--reason", "its examples were wrong").code == 0
    refused = cloister("run", "sort")
    assert (refused.code, "its examples were wrong" in refused.err) == (3, True)
    assert cloister("model", "revoke", "sort.head", "--reason", "those too").code == 0
    last = cloister("model", "rollback", "sort", *WHY)
    assert last.code == 0
    assert "passed over: head sort: " in last.out
    assert "head" not in job.read_text()
    sorting.drop("sort", "d.txt", "The report of the date.\n")
    assert cloister("run", "sort").code == 0


def test_heads_are_admitted_listed_verified_and_their_names_suggested(
    sorting: Place, cloister: Cloister, examples: Path
) -> None:
    pin(sorting, cloister("learn", "sort", "--examples", examples).out)
    site, job = sorting.root / "site.yaml", sorting.root / "jobs" / "sort.yaml"
    site.write_text(site.read_text() + "models: {require_admission: true}\n")
    assert cloister("model", "admit", "tiny", "--licence", "MIT", "--origin", "here").code == 0
    refused = cloister("run", "sort")
    assert (refused.code, "head sort: models/sort.head" in refused.err, "is not admitted" in refused.err) == (
        3, True, True
    )  # fmt: skip
    admitted = cloister("model", "admit", "sort", "--json").json
    assert (admitted["file"], admitted["texts"]) == ("sort.head", 8)
    assert "from 12 examples" in admitted["origin"]
    assert cloister("check", "sort").code == 0
    assert cloister("model", "verify").code == 0
    (head,) = [each for each in cloister("model", "list", "--json").json if each["file"] == "sort.head"]
    assert (head["jobs"], head["use"]) == (["sort"], "classify, as model.head on tiny")
    job.write_text(job.read_text().replace("head: {name: sort", "head: {name: sotr"))
    for command in ("check", "status"):
        told = cloister(command)
        assert "did you mean 'sort'?" in (told.out + told.err).replace("\n           ", " ")
