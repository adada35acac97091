"""What a locked process can still do, asked of a real one: forked, locked, and told to try."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline.parse
from pipeline.parse.seccomp import DENIED, program

# Runs in an interpreter of its own, because a lock is for good. Each line: what was tried, and what came of it.
PROGRAM = """
import os, sys, types
package = types.ModuleType("pipeline")
package.__path__ = [sys.argv[1]]
sys.modules["pipeline"] = package
import signal, socket, threading
from pipeline.parse import sandbox
from pipeline.parse.limits import Limits
report = os.dup(1)
no_network = sandbox.leave_network()
parent = os.getppid()
def start():
    if os.fork() == 0:
        os._exit(0)
state = sandbox.lock(Limits(memory_bytes=256 * 2**20), parent)
tries = {
    "open": lambda: os.open("/etc/hostname", os.O_RDONLY),
    "create": lambda: os.open("/tmp/cloister-should-not-be", os.O_CREAT | os.O_WRONLY),
    "list": lambda: os.listdir("/"),
    "socket": lambda: socket.socket(),
    "unix_socket": lambda: socket.socketpair(),
    "fork": start,
    "thread": lambda: threading.Thread(target=int).start(),
    "exec": lambda: os.execv("/bin/true", ["true"]),
    "kill_parent": lambda: os.kill(parent, 0),
    "unlink": lambda: os.unlink("/tmp/cloister-should-not-be"),
    "memory": lambda: bytearray(300 * 2**20),
    "arithmetic": lambda: sum(range(1000)),
    "small_memory": lambda: bytearray(2**20),
}
lines = [f"{name}={value}" for name, value in sorted(state.items())] + [f"no_network={no_network}"]
for name, act in tries.items():
    try:
        act()
        lines.append(f"{name}: done")
    except BaseException as error:
        lines.append(f"{name}: {type(error).__name__}")
os.write(report, "\\n".join(lines).encode())
sandbox.allow_seconds(0)
if sys.argv[2] == "abort":
    os.abort()
"""


def run(ending: str) -> tuple[dict[str, str], dict[str, str], int]:
    folder = Path(pipeline.parse.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(folder), ending], capture_output=True, check=False)
    lines = done.stdout.decode().splitlines()
    state = dict(line.split("=") for line in lines if "=" in line)
    return state, dict(line.split(": ") for line in lines if ": " in line), done.returncode


def test_a_locked_process_can_compute_and_nothing_else() -> None:
    state, outcome, _ = run("return")
    assert outcome["arithmetic"] == outcome["small_memory"] == "done"
    assert outcome["memory"] == "MemoryError"
    if state["system_call_filter"] != "True":
        pytest.skip("no seccomp on this machine")
    for name in ("open", "create", "list", "socket", "unix_socket", "exec", "kill_parent", "unlink"):
        assert outcome[name] == "PermissionError", name
    assert outcome["fork"] in {"PermissionError", "BlockingIOError"}
    assert outcome["thread"] == "RuntimeError"


def test_abort_still_dies_of_its_own_signal() -> None:
    *_, code = run("abort")
    assert code == -6


def test_the_state_is_said_as_it_is() -> None:
    state, outcome, _ = run("return")
    assert state["memory_limit"] == state["no_new_privileges"] == state["dies_with_parent"] == "True"
    if state["no_files"] == "True":
        assert outcome["open"] == outcome["create"] == "PermissionError"
    assert (outcome["socket"] == "PermissionError") == (state["system_call_filter"] == "True")


def test_the_filter_is_well_formed() -> None:
    """Every jump lands on an instruction, and the last one denies."""
    code = program(DENIED, os.getpid())
    count = len(code) // 8
    assert len(code) % 8 == 0
    for place in range(count):
        operation, yes, no = code[8 * place] + 256 * code[8 * place + 1], code[8 * place + 2], code[8 * place + 3]
        if operation in {0x15, 0x35}:
            assert place + 1 + max(yes, no) < count
    assert code[-8:-6] == b"\x06\x00"


def test_a_child_has_no_network_either_way(pool: pipeline.parse.ParserPool) -> None:
    assert pool.isolation["no_network"] or pool.isolation["system_call_filter"]
