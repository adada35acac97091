"""A workspace knows the version that wrote it: a newer one goes on with it and says so, an older one refuses it."""

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import audit
import pipeline
from jobs.cli.app import make_app
from jobs.config.load import load_site
from pipeline.version import this_version
from tests.jobs.conftest import Cloister, Place, entries

NEWER = {"format": pipeline.version.FORMAT + 1, "version": "9.1.0", "more": ["what a newer version may add"]}
ARGUMENTS = {
    "new": ["more", "--task", "summarize", "--model", "tiny"],
    "run": ["sort"], "retry": ["sort"], "rerun": ["sort"], "learn": ["sort", "--examples", "e"],
    "qualify": ["sort", "--eval", "e"], "bench": ["tiny"], "model import": ["m.gguf"],
    "model quantize": ["m.gguf", "--type", "q4_0", "--name", "n"],
    "model inspect": ["tiny"], "model admit": ["tiny"], "model revoke": ["tiny", "--reason", "r"],
    "model diff": ["sort", "tiny", "--eval", "e"], "model rollback": ["sort", "--reason", "r"], "review show": ["1"],
    "review accept": ["1", "--as", "Ada"], "review correct": ["1", "--as", "Ada", "--label", "nda"],
    "review reject": ["1", "--as", "Ada", "--reason", "r"],
    "review sample": ["sort", "--size", "1"], "review export": ["sort", "--out", "f.csv"],
    "review import": ["f.csv", "--as", "Ada"],
    "console invite": ["Ada", "--role", "reader"], "console revoke": ["Ada"], "audit show": ["d.txt"],
    "audit search": [], "audit recall": ["--model", "tiny"], "audit replay": ["--sample", "1%"],
    "audit hold": ["d.txt", "--reason", "r"], "audit release": ["d.txt", "--reason", "r"], "audit export": ["out"],
    "audit erase": ["d.txt", "--reason", "r"], "audit prove": ["1"], "audit key new": ["k"], "backup": ["../b"],
    "encryption decrypt": ["f", "-o", "g"], "cluster credential": ["c.pem"],
}  # fmt: skip
"""Arguments with which a command comes as far as its workspace."""


def commands() -> Iterator[str]:
    """Each command that has a workspace."""

    def below(name: str, command: Any) -> Iterator[str]:
        own = {option for parameter in command.params for option in parameter.opts}
        if "--workspace" in own and (not hasattr(command, "commands") or command.invoke_without_command):
            yield name
        for word, each in getattr(command, "commands", {}).items():
            yield from below(f"{name} {word}".strip(), each)

    return below("", make_app())


def written(root: Path, said: Mapping[str, Any] = NEWER) -> None:
    (root / "version.json").write_text(json.dumps(said))


def content(root: Path) -> dict[str, str]:
    """The digest of each file, and the folders."""
    digests = {path: path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() for path in root.rglob("*")}
    return {str(path): str(digest) for path, digest in digests.items()}


@pytest.mark.parametrize("command", [name for name in commands() if name != "doctor"])
def test_every_command_refuses_a_workspace_of_a_newer_format(place: Place, cloister: Cloister, command: str) -> None:
    place.job("sort")
    written(place.root)
    (place.root / "site.yaml.next").write_text("a rotation that was cut off")
    before = content(place.root)
    done = cloister(*command.split(), *ARGUMENTS.get(command, []))
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        f"version.json: a workspace of format 2, which Cloister 9.1.0 wrote; this is Cloister {this_version().version}",
        "    expected: format 1 or older",
        "    remedy:   use Cloister 9.1.0 or newer; nothing was changed",
    ]
    assert content(place.root) == before


def test_the_doctor_tells_it_as_a_problem(place: Place, cloister: Cloister) -> None:
    written(place.root)
    before = content(place.root)
    done = cloister("doctor")
    assert done.code == 7
    assert "a workspace of format 2, which Cloister 9.1.0 wrote" in done.out
    assert content(place.root) == before


def test_init_refuses_it_too_and_json_says_why(place: Place, cloister: Cloister) -> None:
    written(place.root)
    done = cloister("init", place.root, "--json")
    assert done.code == 2
    assert done.json["error"]["problems"][0]["found"].startswith("a workspace of format 2, which Cloister 9.1.0")


def test_a_new_workspace_has_the_version_that_made_it(place: Place) -> None:
    said = json.loads((place.root / "version.json").read_text())
    assert said == {"format": pipeline.version.FORMAT, "version": this_version().version}
    assert entries(place) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "1", "version": "0.1.0"}', '{"format": 1, "version": 1}'])
def test_a_file_that_says_nothing_is_refused(place: Place, cloister: Cloister, text: str) -> None:
    (place.root / "version.json").write_text(text)
    done = cloister("status")
    assert done.code == 2
    assert "version.json does not say which version wrote this workspace" in done.err


def test_another_version_goes_on_and_the_log_says_so_once(place: Place, cloister: Cloister) -> None:
    written(place.root, {"format": 1, "version": "0.0.9"})
    for _ in range(2):
        assert cloister("results").code == 0
    (changed,) = entries(place, "version.changed")
    assert changed["before"] == {"format": 1, "version": "0.0.9"}
    assert changed["after"] == {"format": pipeline.version.FORMAT, "version": this_version().version}
    assert json.loads((place.root / "version.json").read_text()) == changed["after"]
    assert cloister("audit", "verify").code == 0


class KilledError(BaseException):
    """The process ends here as if it were killed."""


@pytest.mark.parametrize("step", range(4))
def test_killed_anywhere_it_is_in_the_log_once(
    place: Place, cloister: Cloister, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Before the file, before the entry, before the file's second writing, and not at all."""
    written(place.root, {"format": 1, "version": "0.0.9"})
    steps = iter(range(4))

    def dies(real: Any) -> Any:
        def call(*arguments: Any) -> Any:
            if next(steps, None) == step:
                raise KilledError
            return real(*arguments)

        return call

    with monkeypatch.context() as patch:
        patch.setattr("pipeline.records.journal.write_version", dies(pipeline.version.write_version))
        patch.setattr(audit.Log, "commit", dies(audit.Log.commit))
        with contextlib.suppress(KilledError):
            cloister("results")
    assert cloister("results").code == 0
    assert len(entries(place, "version.changed")) == 1
    assert json.loads((place.root / "version.json").read_text())["version"] == this_version().version


def test_a_service_that_was_running_writes_nothing_more(place: Place) -> None:
    """What opens the log looks again, for the workspace may have been taken over meanwhile."""
    log = load_site(place.root / "site.yaml").log
    written(place.root)
    site = pipeline.Site(
        root=place.root, origin=log.origin, key_file=place.root / log.key, public_key=log.public_key,
        limits=pipeline.Limits(), max_document_bytes=1,
    )  # fmt: skip
    recorded = pipeline.records.record(site, pipeline.records.ReadCheckpoint(size=0))
    assert recorded.n is None
    assert recorded.why is not None
    assert "Cloister 9.1.0" in recorded.why
    assert entries(place) == []


def test_an_entry_of_a_newer_format_is_named_as_one(place: Place, cloister: Cloister) -> None:
    """Where version.json is gone, the log's own number still tells."""
    assert cloister("results").code == 0
    segment = next((place.root / "audit" / "entries").iterdir())
    segment.write_bytes(segment.read_bytes().replace(b'"v":1}', b'"v":2}'))
    done = cloister("audit", "verify")
    assert done.code == 4
    assert "format version 2, which a newer Cloister wrote; expected 1" in done.out


def test_a_workspace_without_the_file_gets_one(place: Place, cloister: Cloister) -> None:
    (place.root / "version.json").unlink()
    assert cloister("results").code == 0
    assert json.loads((place.root / "version.json").read_text())["version"] == this_version().version
    assert entries(place, "version.changed") == []
