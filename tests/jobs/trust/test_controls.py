"""The matrix of controls: its rules and measures fit together, and its evidence follows the site."""

import os
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import audit
from jobs.cli.commands import COMMANDS, Group
from jobs.config.workspace import open_workspace
from jobs.trust.controls import MEASURES, RULES, running_now
from jobs.trust.finding import Finding, Standing
from jobs.trust.measures import EVIDENCE
from tests.jobs.conftest import LEASE, SORT, Cloister, Place

ROOT = Path(__file__).parents[3]


def clauses() -> list[Any]:
    return [control for rule in RULES.values() for control in rule.controls]


def test_each_clause_names_measures_that_there_are_and_each_measure_is_named() -> None:
    named = [name for control in clauses() for name in control.measures]
    assert set(named) == set(MEASURES) == set(EVIDENCE)
    assert all(control.measures and control.asks.endswith((".", ")")) and control.site for control in clauses())


def test_clauses_that_the_rules_must_have() -> None:
    family = [control.clause for control in RULES["sp800-53"].controls]
    assert family == [f"AU-{number}" for number in range(2, 13)]
    assert {control.clause.split("(")[0] for control in RULES["eu-ai-act"].controls} == {"12", "19", "26"}
    assert [control.clause for control in RULES["gdpr"].controls] == [
        *(f"5(1)({x})" for x in "abcdef"),
        "5(2)",
        "17",
        "30",
    ]
    assert all(rule.left_out.endswith(".") for rule in RULES.values()), "what of a rule is not here is said"
    assert [control.clause for control in RULES["hipaa"].controls] == ["164.312(b)", "164.312(c)(1)", "164.312(c)(2)"]


@pytest.mark.parametrize("name", MEASURES)
def test_what_shows_a_measure_is_there(name: str) -> None:
    for each in MEASURES[name].see.split("; "):
        words = each.split()
        if words[0] == "cloister":
            commands: Any = COMMANDS
            for word in words[1:3]:
                if isinstance(commands, Group):
                    commands = commands.commands
                if isinstance(commands, str) or word not in commands:
                    break
                commands = commands[word]
            assert commands is not COMMANDS, each
        elif each.endswith(".md"):
            assert (ROOT / each).is_file(), each
        else:
            assert re.fullmatch(r"([\w ]+ in )?\S*\*\S*|[\w ]+ in .*|archive/, failed/|exit code 4", each), each


def standings(cloister: Cloister, *rules: str) -> dict[str, tuple[str, str]]:
    done = cloister("audit", "controls", *rules, "--json")
    assert done.code == 0
    lines = [line for rule in done.json["rules"] for clause in rule["clauses"] for line in clause["measures"]]
    return {line["name"]: (line["standing"], line["evidence"]) for line in lines}


def test_evidence_follows_the_log(ready: Place, cloister: Cloister) -> None:
    before = standings(cloister)
    assert before["verified"] == ("not in force", "never verified")
    assert before["provenance"][0] == "available"
    ready.drop("sort", "lease.txt", LEASE)
    assert cloister("run", "sort").code == 0
    assert cloister("audit", "verify").code == 0
    assert cloister("audit", "witness").code == 0
    assert cloister("audit", "replay", "lease.txt").code == 0
    after = standings(cloister)
    assert set(before) == set(MEASURES) == set(after)
    assert after["verified"][0] == "in force"
    assert after["verified"][1].startswith("verified: once, the last time on 20")
    assert after["provenance"] == ("in force", "rows: 1, of them 1 done")
    assert after["witnessed"][0] == "in force"
    assert after["replay"][0] == "in force"
    assert cloister("backup", "../backups").code == 0
    running = running_now(open_workspace(ready.root))
    later = replace(running, now=running.now + timedelta(days=40))
    for name in ("verified", "witnessed", "backup"):
        assert [EVIDENCE[name](at).state for at in (running, later)] == [
            Standing.IN_FORCE,
            Standing.IN_PART,
        ]
    assert after["silence"][0] == "in part", "a run within the tests is held by Python alone"
    assert after["backup"][0] == before["backup"][0] == "not in force"
    (ready.root / "outbox/sort" / ready.parts("sort")[0].name).write_bytes(b"altered")
    assert cloister("audit", "verify").code == 4
    assert standings(cloister)["verified"][0] == "not in force"


def test_evidence_follows_the_configuration(ready: Place, cloister: Cloister) -> None:
    before = standings(cloister)
    assert before["retention"] == ("not in force", "0 of 1 jobs delete by a rule; deleted by rule: never")
    assert before["private"][0] == before["models"][0] == before["calling"][0] == "not in force"
    assert before["encryption"][0] == "not in force"
    assert before["isolation"] == ("in force", "a run without it is refused")
    ready.job("sort", SORT + "private: true\nretention: {{archive_days: 30}}\n")
    site = ready.root / "site.yaml"
    said = re.sub(r"(?m)^limits:.*\n(  .*\n)*", "limits: {isolation: best_effort}\n", site.read_text())
    site.write_text(said + "models: {require_admission: true}\nnotify: {command: [/bin/true], on: [success]}\n")
    assert before["rights"][0] == before["keys"][0] == "in force"
    (ready.root / "jobs").chmod(0o770)
    (ready.root / "keys/log.key").chmod(0o640)
    assert cloister("encryption", "new", "keys/rest.key").code == 0
    site.write_text(site.read_text() + "encryption: {key_file: keys/rest.key}\n")
    after = standings(cloister)
    assert after["retention"][0] == after["private"][0] == "in force"
    assert after["calling"][0] == "in part", "a command that is called for success alone tells of no failure"
    assert after["encryption"][0] == "in force"
    assert after["models"][0] == "in part", "admission is demanded, but the job pins no model"
    assert after["isolation"][0] == "in part"
    assert after["keys"][0] == after["rights"][0] == "not in force"
    (ready.root / "keys/log.key").chmod(0o600)
    floor = "quality: {{eval: known.csv, require: false}}\n"
    ready.job("sort", f"{SORT}{floor}notify: {{{{command: [/bin/true]}}}}\n")
    ready.job("broken", "job: broken\n")
    last = standings(cloister)
    assert last["jobs"] == ("in part", "these job files cannot be read: jobs/broken.yaml")
    words = "A group may write to jobs, and so decide what runs and what is handed to the log."
    assert last["rights"] == ("in part", words)
    assert last["calling"][0] == "in force", "the job's command is called for failures too"
    assert last["quality"][0] == "not in force", "a floor that no run is refused for is no demand"


def test_a_passphrase_counts_wherever_it_comes_from(ready: Place) -> None:
    running = running_now(open_workspace(ready.root))
    assert "mode 0600, and no passphrase" in EVIDENCE["keys"](running).evidence
    secret, file = ready.root / "secret", ready.root / "keys" / "protected.key"
    secret.write_text("open sesame")
    secret.chmod(0o600)
    audit.generate_key(file, "test.example/log", secret)
    protected = replace(running, site=replace(running.site, key_file=file))  # which the unit's credential opens
    assert "mode 0600, and a passphrase" in EVIDENCE["keys"](protected).evidence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_an_auditor_who_may_not_look_at_the_keys(ready: Place) -> None:
    workspace = open_workspace(ready.root)
    above = [folder for folder in (ready.root, *ready.root.parents) if not folder.stat().st_mode & 1]
    modes = {path: path.stat().st_mode for path in [*above, *ready.root.rglob("*")]}
    for path in modes:
        path.chmod(0o700 if path.name in ("keys", "private") else 0o755)
    os.seteuid(65534)
    try:
        running = running_now(workspace)
        told = {name: found(running) for name, found in EVIDENCE.items()}
    finally:
        os.seteuid(0)
        for path, mode in modes.items():
            path.chmod(mode)
    assert running.people is None
    assert "this user may not read" in told["access"].evidence
    assert told["keys"] == Finding(Standing.IN_PART, "this user may not look at the key; replaced: never")
    assert told["rights"].state is Standing.IN_PART, "the workspace is open to all, for this test"


def test_page_and_text_tell_the_same(ready: Place, cloister: Cloister) -> None:
    done = cloister("audit", "controls", "hipaa", "--out", "matrix.html")
    assert (done.code, done.out) == (0, "The matrix is in matrix.html.\n")
    page, text = Path("matrix.html").read_text(), cloister("audit", "controls", "hipaa").out
    assert "<script" not in page
    for told in (
        "164.312(c)(2)",
        "never verified",
        "not legal advice",
        "Not here: The other safeguards",
        "when they need it",
    ):
        assert told in page
        assert told in text
    assert "21 CFR" not in text


def test_a_rule_that_is_not_there(place: Place, cloister: Cloister) -> None:
    refused = cloister("audit", "controls", "hippa")
    assert refused.code == 2
    assert "did you mean 'hipaa'?" in refused.err
