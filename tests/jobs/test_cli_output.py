"""stdout and stderr as they are found: full, closed, or of an encoding that lacks characters."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jobs.conftest import LEASE, Cloister, Place

COMMAND = [sys.executable, "-P", "-c", "from jobs.cli import main; main()"]
FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.is_char_device(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [
        (["status"], ""),
        (["results", "--json"], "1"),
        (["--help"], ""),
        (["--help"], "1"),
        (["run", "none", "--json"], ""),
    ],
)
def test_a_full_disk_under_stdout_is_one_message(place: Place, arguments: list[str], unbuffered: str) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.endswith("cannot write the output: No space left on device\n")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "prove", "xx"], "Invalid value for 'N'"),
        (["run"], "Missing argument 'JOB"),
        (["serve", "--bogus"], "No such option: --bogus"),
        (["model", "quantize", "m", "--type", "qx"], "'qx' is not one of"),
        (["nothing"], "No such command 'nothing'"),
    ],
)
def test_wrong_usage_is_json_too(place: Place, cloister: Cloister, arguments: list[str], said: str) -> None:
    told = cloister(*arguments, "--json")
    assert (told.code, told.json["exit_code"], told.json["error"]["problems"]) == (2, 2, [])
    assert said in told.json["error"]["message"]
    assert "Error" in told.err
    assert cloister(*arguments).out == ""


@pytest.mark.parametrize("arguments", [["results", "--json"], ["--help"]])
def test_a_closed_pipe_ends_quietly(place: Place, arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*COMMAND, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_an_encoding_that_lacks_characters(ready: Place, cloister: Cloister) -> None:
    ready.drop("sort", "Verträge € 2026.txt", LEASE)
    assert cloister("run", "sort").code == 0
    poor = os.environ | {"PYTHONIOENCODING": "ascii"}
    for arguments in (["results"], ["results", "--json"], ["--help"]):
        done = subprocess.run([*COMMAND, *arguments], capture_output=True, env=poor, check=False)
        assert done.returncode == 0, done.stderr
        told = done.stdout.decode("ascii")
        if arguments[-1] == "--json":
            assert json.loads(told)[0]["path"] == "Verträge € 2026.txt"
        elif arguments == ["results"]:
            assert "Vertr\\xe4ge \\u20ac 2026.txt" in told
