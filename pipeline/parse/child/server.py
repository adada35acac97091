"""The parser server: a small process without threads that has every parser loaded and forks the children.

A fork of it costs milliseconds, where a fresh interpreter costs a fifth of a second. It reads no document itself. It
ends with its parent, whose socket then ends, and its children end with it (sandbox.py).

    {"fork": Limits} + socket   ->  {"pid": 17}                          a child that serves that socket
    {"end": 17, "patience": 0}  ->  {"status": -6, "peak_bytes": ...}    killed if still alive after so many seconds;
                                                                         status as of waitpid: -signal, or the exit code
    {"exec": [...], "limits": Limits, "required": true} + input, output  ->  {"pid": 18}
                                                                         another program, which reads and writes those
"""

import encodings
import gc
import importlib
import os
import pkgutil
import signal
import socket
import time
from collections.abc import Sequence

from pipeline.parse import sandbox
from pipeline.parse.child import life as child
from pipeline.parse.child.channel import Channel, ChannelClosedError
from pipeline.parse.limits import Limits

PROGRAMS = ("/usr", "/bin", "/lib", "/lib64", "/opt", "/etc/ld.so.cache", "/dev/null", "/proc/cpuinfo")
"""Where another program may read: itself, its libraries and its data."""
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "OMP_THREAD_LIMIT": "1"}


def serve(control: Channel) -> None:
    """Fork and reap until the other end of `control` closes."""
    os.chdir("/")
    for module in pkgutil.iter_modules(encodings.__path__):  # a child can open no file, so it can import none
        if module.name not in {"mbcs", "oem"}:
            importlib.import_module(f"encodings.{module.name}")
    no_network = sandbox.leave_network()
    gc.collect()
    gc.freeze()  # what is loaded now stays shared with the children
    while True:
        try:
            request, fds = control.receive()
        except ChannelClosedError:
            return
        if "fork" in request:
            control.send({"pid": _fork(control, fds[0], Limits(**request["fork"]), no_network)})
        elif "exec" in request:
            limits, required = Limits(**request["limits"]), request["required"]
            control.send({"pid": _execute(control, request["exec"], limits, fds, required)})
        else:
            pid = request["end"]
            # Not yet waited for: the number is still this child's. One that dies of a signal keeps that as its status.
            deadline = time.monotonic() + request["patience"]
            while (
                time.monotonic() < deadline and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
            ):
                time.sleep(0.001)
            os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(pid, 0)
            control.send({"status": os.waitstatus_to_exitcode(status), "peak_bytes": usage.ru_maxrss * 1024})


def _fork(control: Channel, fd: int, limits: Limits, no_network: bool) -> int:
    server = os.getpid()
    pid = os.fork()
    if pid:
        os.close(fd)
        return pid
    try:
        control.close()
        channel = Channel(socket.socket(fileno=fd))  # which asks what it is: no longer allowed after the next line
        isolation = sandbox.lock(limits, server) | {"no_network": no_network}
        child.serve(channel, limits, isolation)
    finally:
        os._exit(0)


def _execute(control: Channel, command: list[str], limits: Limits, fds: Sequence[int], required: bool) -> int:
    server = os.getpid()
    pid = os.fork()
    if pid:
        for fd in fds:
            os.close(fd)
        return pid
    try:
        control.close()
        isolation = sandbox.lock_program(limits, server, fds, readable=PROGRAMS)
        if required and sandbox.lacking(isolation, sandbox.OF_PROGRAM):
            os._exit(sandbox.NOT_LOCKED)
        os.execve(command[0], command, ENVIRONMENT)
    finally:
        os._exit(127)
