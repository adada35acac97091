"""`cloister doctor --egress`: the proof on the user's own machine, and what it says where something reaches out."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.silence.seal import TRACED
from jobs.trust import deliberate
from jobs.trust.proof import write_samples
from pipeline.parse.sandbox import landlock
from tests.jobs.conftest import LEASE, Cloister, Place, cloister, entries, place, ready  # noqa: F401

REACHING = """
import sys
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "jobs.cli.run":
            import socket
            try: socket.getaddrinfo("cloister.invalid", 80)
            except BaseException: pass
sys.meta_path.insert(0, Finder)
"""
"""Code that every Python runs at its start, and which asks for a name when the command is loaded."""
BLIND = """
import os
import pipeline
from jobs.trust.proof import _prove_tracer
from pipeline.parse.sandbox import landlock
import ctypes
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
read = 1 << 2
assert landlock.hold(read, {f"/{name}": read for name in os.listdir("/") if name != "proc"})
try: _prove_tracer()
except pipeline.MachineRefusedError as error: print(error)
"""

pytestmark = pytest.mark.skipif(TRACED in os.environ, reason="a tracer looks at the tests themselves")


def test_a_job_of_the_workspace_reads_documents_that_ask_for_a_network(ready: Place, cloister: Cloister) -> None:  # noqa: F811
    before = sorted(ready.root.rglob("*"))
    done = cloister("doctor", "--egress", "--json")
    assert done.code == 0, done.err
    told = done.json
    assert told["caught"] == list(deliberate.CALLS)
    assert told["outside"] == []
    names = [each["command"].split()[1] for each in told["commands"]]
    assert names == ["run", "results", "audit", "audit"]
    assert [each["exit_code"] for each in told["commands"]] == [0] * 4
    assert [each["answered"] for each in told["commands"]] == [7, None, None, None]
    assert sorted(ready.root.rglob("*")) == before


def test_a_call_of_a_job_is_named_with_its_program_and_address(ready: Place, cloister: Cloister) -> None:  # noqa: F811
    """Here of a command of `notify`, which is the site's own business, and counts all the same."""
    code = "import socket; socket.socket(type=socket.SOCK_DGRAM).connect(('192.0.2.7', 514))"
    with (ready.root / "site.yaml").open("a") as site:
        site.write(f"notify: {json.dumps({'command': [sys.executable, '-c', code], 'on': ['success']})}\n")
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("doctor", "--egress", "--job", "sort", "--json")
    assert done.code == 70
    (seen,) = done.json["outside"]
    assert (seen["call"], seen["address"], seen["where"], seen["count"]) == ("connect", "192.0.2.7:514", "outside", 1)
    assert seen["program"].startswith("python")
    (started,) = entries(ready, "run.started")
    assert started["silence"] == {"audit_hook": True, "system_calls": "traced"}


def test_what_the_guard_refused_before_the_kernel_was_asked_counts(
    ready: Place,  # noqa: F811
    cloister: Cloister,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(REACHING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    ready.drop("sort", "lease.txt", LEASE)
    done = cloister("doctor", "--egress", "--job", "sort", "--json")
    assert done.code == 70, done.err
    ((attempt,),) = [each["refused"] for each in done.json["commands"]]
    assert attempt.startswith("getaddrinfo to 'cloister.invalid', by ")
    assert done.json["outside"] == []  # so the tracer saw none of it


def test_a_run_that_answers_no_document_proves_nothing(ready: Place, cloister: Cloister) -> None:  # noqa: F811
    done = cloister("doctor", "--egress", "--job", "sort")
    assert (done.code, "it answered no document, so that it proves nothing" in done.err) == (2, True)


def test_where_a_tracer_may_not_read_what_it_traces_it_is_told() -> None:
    """As where ptrace_scope is 2 or 3; here Landlock keeps it from /proc."""
    if landlock.version() < 1:
        pytest.skip("no Landlock on this machine")
    done = subprocess.run([sys.executable, "-P", "-c", BLIND], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("it cannot be proved here that nothing goes out: a tracer reads the memory"), done


def test_without_a_job_that_can_run_it_is_told(place: Place, cloister: Cloister) -> None:  # noqa: F811
    done = cloister("doctor", "--egress")
    assert (done.code, "no job that reads documents" in done.err) == (2, True)
    place.job("sort")
    done = cloister("doctor", "--egress")
    assert (done.code, "none of its 1 jobs that read documents has its model" in done.err) == (2, True)
    assert cloister("doctor", "--job", "sort").code == 2


def test_every_sample_asks_for_another_machine(place: Place) -> None:  # noqa: F811
    names = write_samples(place.root)
    assert len(names) == 7
    for name in set(names) - {"letter.txt", "lease.docx"}:
        assert b"http://192.0.2.80/" in (place.root / name).read_bytes(), name
