"""`cloister doctor` as a command: its lines, its exit code, JSON, baselines, and checks that fail."""

import errno
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import jobs.cli.doctor as command
from jobs.trust.doctor import CHECKS, Check, examine
from jobs.trust.finding import Compared, Found, Level, fewer, less_bytes, ok, problem, same, slower, warning
from jobs.trust.patient import Patient
from tests.jobs.conftest import Cloister, Place
from tests.jobs.trust.found import patient_of
from tests.pages import text_of


def scripted(*findings: Found, figures: Mapping[str, Compared] | None = None, error: Exception | None = None) -> Check:
    """A check that finds what it is told to."""

    def examine(patient: Patient) -> Iterator[Found]:
        yield from findings
        if error:
            raise error

    return Check(examine, figures=figures or {})


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> dict[str, Check]:
    """The checks that the command makes: none, until a test adds some."""
    made: dict[str, Check] = {}
    monkeypatch.setattr(command, "CHECKS", made)
    return made


def few(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """The command with some of the real checks."""
    monkeypatch.setattr(command, "CHECKS", {name: CHECKS[name] for name in names})


def test_all_checks_of_a_workspace(ready: Place, cloister: Cloister, tmp_path: Path) -> None:
    done = cloister("doctor", "--json", "--save", tmp_path / "kept.json")
    assert [*dict.fromkeys(each["check"] for each in done.json["findings"])] == list(CHECKS)
    wrong = [each for each in done.json["findings"] if each["level"] == "problem"]
    assert done.code == done.json["exit_code"] == (7 if wrong else 0)
    assert [each for each in wrong if "defect" in each["sentence"]] == []
    assert done.json["workspace"] == str(ready.root)
    assert set(done.json["figures"]) == set(CHECKS)
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept["checks"]["log"] == {"level": "ok", "figures": {"entries": 0}}
    for name, check in CHECKS.items():  # a rule for a figure that does not exist would never say anything
        level = kept["checks"][name]["level"]
        assert set(check.figures) <= set(kept["checks"][name]["figures"]) or level == "problem", name


def test_only_the_machine_where_there_is_no_workspace(
    cloister: Cloister, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLOISTER_WORKSPACE", raising=False)
    few(monkeypatch, "cores", "log", "sync")
    done = cloister("doctor", "--json")
    assert (done.json["workspace"], [each["check"] for each in done.json["findings"]]) == (None, ["cores"])
    assert cloister("doctor").out.startswith("There is no workspace here, so only the machine is looked at")
    named = cloister("doctor", "--workspace", tmp_path)
    assert (named.code, "it holds no site.yaml" in named.err) == (2, True)


def test_a_broken_site_is_a_problem_and_the_rest_goes_on(
    place: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch
) -> None:
    few(monkeypatch, "cores", "site", "permissions", "log")
    (place.root / "site.yaml").write_text("log: [")
    done = cloister("doctor", "--json")
    assert done.code == 7
    assert [*dict.fromkeys(each["check"] for each in done.json["findings"])] == ["cores", "site", "permissions"]


def test_each_line_and_the_sum(place: Place, cloister: Cloister, checks: dict[str, Check]) -> None:
    checks["one"] = scripted(ok("All is well."))
    checks["two"] = scripted(warning("Look\nat this.", "do that"), problem("Mend this.", "at once"))
    done = cloister("doctor")
    assert done.code == 7
    assert done.out == (
        "ok       one         All is well.\n"
        "warning  two         Look at this.\n"
        "                     remedy: do that\n"
        "problem  two         Mend this.\n"
        "                     remedy: at once\n"
        "1 ok, 1 warning, 1 problem\n"
    )
    del checks["two"]
    checks["two"] = scripted(warning("Look at this.", "do that"))
    assert cloister("doctor").code == 0


def test_a_check_that_fails_is_one_line_and_not_the_end(place: Place) -> None:
    checks: Mapping[str, Check] = {
        "first": scripted(ok("So far."), error=ZeroDivisionError("of a test")),
        "second": scripted(error=PermissionError(13, "Permission denied", "/proc/secret")),
        "third": scripted(ok("Still here.")),
    }
    found = [(each.check, each.finding) for each in examine(patient_of(place), checks)]
    assert [name for name, _ in found] == ["first", "first", "second", "third"]
    assert found[1][1].state == Level.PROBLEM
    assert found[1][1].evidence.endswith("ZeroDivisionError: of a test")
    (kept,) = (place.root / "state" / "crashes").iterdir()
    assert str(kept) in (found[1][1].remedy or "")
    assert "ZeroDivisionError" in kept.read_text()
    assert found[2][1].evidence == "This cannot be looked at: /proc/secret: Permission denied."


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EACCES, "run this as the user who runs Cloister"),
        (errno.ENOSPC, "make room on that disk"),
        (errno.EROFS, "mount that file system for writing"),
        (errno.ENOENT, "cloister restore brings back"),
        (errno.EIO, "what is wrong with the disk"),
    ],
)
def test_the_remedy_is_that_of_the_error(number: int, remedy: str) -> None:
    failing = scripted(error=OSError(number, os.strerror(number), "/srv/here"))
    (only,) = examine(Patient(), {"one": failing})
    assert remedy in (only.finding.remedy or "")


def test_a_proof_keeps_no_baseline(place: Place, cloister: Cloister) -> None:
    for option in ("--save", "--against"):
        done = cloister("doctor", "--egress", option, "kept.json")
        assert (done.code, "expected: either of them, or --egress" in done.err) == (2, True)


def test_what_has_changed_since_a_baseline(place: Place, cloister: Cloister, checks: dict[str, Check]) -> None:
    rules = {"kernel": same, "memory": less_bytes(0.05), "sync": slower(2, 0.5), "packages": same}
    before = {"kernel": "6.1", "memory": 16 << 30, "sync": 1.0, "packages": {"numba": "1", "lxml": "2"}}
    checks["machine"] = scripted(ok("Fine.", **before), figures=rules)
    checks["gone"] = scripted(ok("Fine."))
    assert cloister("doctor", "--save", "kept.json").code == 0
    same_as_then = cloister("doctor", "--against", "kept.json")
    assert (same_as_then.code, "nothing has changed." in same_as_then.out) == (0, True)
    now = {"kernel": "6.8", "memory": 8 << 30, "sync": 9.0, "packages": {"numba": "1", "regex": "3"}}
    checks["machine"] = scripted(warning("Hm.", "look", **now), figures=rules)
    del checks["gone"]
    done = cloister("doctor", "--against", "kept.json", "--json")
    assert done.code == 0
    assert [each["sentence"] for each in done.json["changes"]] == [
        "was ok, is warning",
        "kernel was 6.1, is 6.8",
        "memory were 16.0 GiB, are 8.0 GiB",
        "sync took 1.00 ms, and take 9.00 ms now: 9.0 times as long",
        "packages lxml 2 is gone; regex 3 is new",
        "was looked at then, and is not now",
    ]
    assert "changed  machine     kernel was 6.1, is 6.8\n" in cloister("doctor", "--against", "kept.json").out


@pytest.mark.parametrize(
    ("rule", "before", "now", "expected"),
    [
        (same, None, "1", "was none, is 1"),
        (same, True, False, "was yes, is no"),
        (same, ["deu", "eng"], ["eng", "fra"], "deu is gone; fra is new"),
        (same, {"a": "1"}, {"a": "2"}, "a was 1, is 2"),
        (same, [], [str(n) for n in range(10)], "; ".join(f"{n} is new" for n in range(8)) + "; and 2 more"),
        (less_bytes(0.05), 100 << 20, 96 << 20, None),
        (less_bytes(0.05), 100 << 20, 94 << 20, "were 100 MiB, are 94 MiB"),
        (less_bytes(0.05), None, 1, None),
        (slower(2, 0.5), 0.1, 0.5, None),
        (slower(2, 0.5), 1.0, 1.9, None),
        (slower(2, 0.5), 0, 2, "took 0.00 ms, and take 2.00 ms now: longer"),
        (fewer, 7, 7, None),
        (fewer, 7000, 6, "were 7,000, are 6"),
    ],
)
def test_rules_of_figures(rule: object, before: object, now: object, expected: str | None) -> None:
    assert rule(before, now) == expected  # type: ignore[operator]


def test_a_shorter_log_is_seen(place: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch) -> None:
    few(monkeypatch, "log", "key")
    assert cloister("doctor", "--save", "kept.json").code == 0
    kept = json.loads(Path("kept.json").read_text())
    kept["checks"]["log"]["figures"]["entries"] = 5
    Path("kept.json").write_text(json.dumps(kept))
    changes = cloister("doctor", "--against", "kept.json", "--json").json["changes"]
    assert changes == [{"check": "log", "sentence": "entries were 5, are 0"}]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (None, "cannot be read: No such file"),
        ("{", "is no JSON"),
        ("[]", "is no baseline of this version"),
        ('{"form": "cloister doctor 1"}', "is no whole baseline"),
        ('{"form": "cloister doctor 1", "made_at": "", "checks": {"a": {"level": "good"}}}', "is no whole baseline"),
    ],
)
def test_a_baseline_that_is_none(
    text: str | None, found: str, place: Place, cloister: Cloister, checks: dict[str, Check]
) -> None:
    if text is not None:
        Path("kept.json").write_text(text)
    done = cloister("doctor", "--against", "kept.json")
    assert (done.code, done.err.startswith(f"kept.json: {found}")) == (2, True)
    assert "expected: a file that `cloister doctor --save FILE` wrote" in done.err


def test_a_baseline_that_cannot_be_kept(place: Place, cloister: Cloister, checks: dict[str, Check]) -> None:
    done = cloister("doctor", "--save", "nowhere/kept.json")
    assert (done.code, "nowhere/kept.json: cannot be written" in done.err) == (2, True)


def test_the_page_has_all_checks_in_their_order() -> None:
    assert re.findall(r"^\| `(\w+)` \|", text_of("jobs/trust/README.md"), re.M) == list(CHECKS)
