"""A tracer: it starts a command, and is asked by the kernel about each call by which that, or anything that it starts,
would reach for a network, also from native code.

Calls that stay on this machine go on. Others are counted, and fail as where there is no route. What the tracer saw of
an address could be changed by another thread before the kernel reads it, so that the tracer is a proof of what honest
code does and no prison: that is a network namespace without a route (isolated.py), in which the command runs besides.
"""

import errno
import fcntl
import os
import platform
import select
import struct
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import pipeline
from jobs.silence.seal import TRACED

_UNSPECIFIED, _UNIX, _INET, _INET6, _NETLINK = 0, 1, 2, 10, 16  # linux/socket.h
_RESOLVER_PORTS: Final = frozenset({53, 853, 5353, 5355})  # DNS, DNS over TLS, mDNS, LLMNR
_RESOLVERS: Final = (
    "/run/systemd/resolve/",
    "/var/run/systemd/resolve/",
    "/run/avahi-daemon/",
    "/var/run/avahi-daemon/",
)
"""Sockets of this machine at which somebody else asks the network for names. nscd is none of them: libc asks it for
users, too, so that its socket is tried by whoever wants to know its own name."""
_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102  # SECCOMP_IOCTL_NOTIF_RECV, _SEND, _ID_VALID
_QUESTION: Final = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif
_ANSWER: Final = struct.Struct("=QqiI")  # struct seccomp_notif_resp
_GO_ON: Final = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE (Linux 5.5)
_LONGEST: Final = 128  # bytes of an address (struct sockaddr_storage)
_MOST_MESSAGES: Final = 1024  # of one sendmmsg (UIO_MAXIOV)
_MESSAGE: Final = 56  # bytes of struct msghdr; in struct mmsghdr 64
_RAW, _SCTP, _TYPE = 3, 132, 0xF  # of a socket: with these, others are reached without a call that names them
_GRACE_SECONDS: Final = 5.0  # for what the command leaves behind
UNKNOWN: Final = "unknown"
"""The address of a call whose memory could not be read."""


class Where(StrEnum):
    """Where a call leads."""

    LOCAL = "local"
    """To this machine, without an internet address."""
    LOOPBACK = "loopback"
    NAME = "name resolution"
    OUTSIDE = "outside"


_OUT: Final = (Where.OUTSIDE, Where.NAME)


@dataclass(frozen=True)
class Address:
    """An address in words, and where it leads."""

    text: str
    where: Where


def parse_address(raw: bytes, *, sends: bool) -> Address:
    """The address of a struct sockaddr. `sends`: it is bound, or sent to; there IPv4 takes a family of 0 for its own,
    while to connect to it only ends a connection."""
    if len(raw) < 2:
        return Address("none", Where.LOCAL)
    (family,) = struct.unpack_from("=H", raw)
    if family == _INET or (family == _UNSPECIFIED and sends and len(raw) >= 8):
        if len(raw) < 8:
            return Address("a short address of IPv4", Where.OUTSIDE)
        port, host = struct.unpack_from("!H4s", raw, 2)
        return Address(f"{IPv4Address(host)}:{port}", _where(IPv4Address(host), port))
    if family == _INET6:
        if len(raw) < 24:
            return Address("a short address of IPv6", Where.OUTSIDE)
        port, _, host = struct.unpack_from("!HI16s", raw, 2)
        address = IPv6Address(host)
        return Address(f"[{address}]:{port}", _where(address.ipv4_mapped or address, port))
    if family == _UNIX:
        path = os.fsdecode(raw[2:].split(b"\0")[0] or b"@" + raw[3:].rstrip(b"\0"))
        return Address(path, Where.NAME if path.startswith(_RESOLVERS) else Where.LOCAL)
    if family in (_UNSPECIFIED, _NETLINK):
        return Address(f"family {family}", Where.LOCAL)
    return Address(f"family {family}: {raw[2:16].hex()}", Where.OUTSIDE)


def _where(address: IPv4Address | IPv6Address, port: int) -> Where:
    if port in _RESOLVER_PORTS:
        return Where.NAME
    return Where.LOOPBACK if address.is_loopback else Where.OUTSIDE


class NoTracerError(Exception):
    """This machine, or what this process runs in, gives no tracer; says why."""


class CannotGoOnError(Exception):
    """This kernel cannot let a call go on that it asked about."""


class UnreadableError(Exception):
    """The memory of who asked cannot be read."""


@dataclass(frozen=True)
class Question:
    """A call that a thread of a process is about to make: its number and arguments. The thread waits for the answer."""

    id: int
    thread: int
    number: int
    arguments: tuple[int, ...]

    def memory(self, address: int, size: int) -> bytes:
        """Read what an argument points to, in the memory of the process. UnreadableError where not all of it is there,
        or this process may not look."""
        try:
            mem = os.open(f"/proc/{self.thread}/mem", os.O_RDONLY | os.O_CLOEXEC)
            try:
                read = os.pread(mem, size, address)
            finally:
                os.close(mem)
        except (OSError, OverflowError) as error:  # the latter for an address that no process has
            raise UnreadableError from error
        if len(read) < size:
            raise UnreadableError
        return read

    def process(self) -> tuple[int, str]:
        """The process of the thread, and the name of its program; what is known of one that has just gone."""
        try:
            status = Path(f"/proc/{self.thread}/status").read_text(errors="replace")
            pid = int(status.split("\nTgid:")[1].split()[0])
            return pid, Path(f"/proc/{pid}/comm").read_text(errors="replace").strip()
        except (OSError, IndexError, ValueError):
            return self.thread, "?"


def receive(listener: int) -> Question | None:
    """The next question; None where who asked was killed meanwhile."""
    raw = bytearray(_QUESTION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, raw, True)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINTR):
            return None
        raise
    found = _QUESTION.unpack(raw)
    return Question(found[0], found[1], found[3], found[6:])


def is_waiting(listener: int, question: Question) -> bool:
    """Whether the thread still waits, so that what was read of its memory was its own."""
    try:
        fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", question.id))
    except OSError:
        return False
    return True


def answer(listener: int, question: Question, refusal: int) -> None:
    """Let the call go on (0), or fail with this errno. CannotGoOnError."""
    raw = _ANSWER.pack(question.id, 0, -refusal, 0 if refusal else _GO_ON)
    try:
        fcntl.ioctl(listener, _SEND, raw)
    except OSError as error:
        if error.errno == errno.EINVAL:
            raise CannotGoOnError from error
        if error.errno not in (errno.ENOENT, errno.EINPROGRESS):  # it was killed, or woken by a signal
            raise


_LEAD_OUT: Final = {
    "pidfd_getfd": Address("a descriptor of another process", Where.OUTSIDE),
    "request_key": Address("a key, for which a name may be resolved", Where.NAME),
}
"""Calls that lead out whatever their arguments are."""


@dataclass(frozen=True)
class Seen:
    """Calls of one kind: the program and the number of its process, the call, its address, and where that leads."""

    program: str
    pid: int
    call: str
    address: str
    where: Where


@dataclass
class Trace:
    """What was seen of a command and all that it started: how often each call was made, of those that name an
    internet address or resolve a name; how many calls were looked at; how many internet sockets were made; and how many
    rings (io_uring), which are refused because a tracer does not see what goes through them."""

    code: int = 0
    seen: Counter[Seen] = field(default_factory=Counter)
    looked: int = 0
    sockets: int = 0
    rings: int = 0

    def outside(self, but: Sequence[str] = ()) -> list[tuple[Seen, int]]:
        """The calls that lead out of the machine or resolve a name, but for those of programs of these names."""
        return [(seen, count) for seen, count in self.seen.items() if seen.where in _OUT and seen.program not in but]


def trace(command: Sequence[str], **settings: Any) -> Trace:
    """Run a command to its end, under a tracer; `settings` are those of subprocess.Popen. NoTracerError; OSError where
    it cannot be started."""
    settings["env"] = {**(settings.pop("env", None) or os.environ), TRACED: "1"}
    with ThreadPoolExecutor(1) as starter:  # the filter holds for its thread and what that starts, not for this one
        listener, process = starter.submit(_start, command, settings).result()
    try:
        return _follow(listener, process)
    except CannotGoOnError as error:
        raise NoTracerError("a tracer needs Linux 5.5 or newer") from error
    finally:
        os.close(listener)
        if process.poll() is None:
            process.kill()
            process.wait()


def _start(command: Sequence[str], settings: dict[str, Any]) -> tuple[int, "subprocess.Popen[bytes]"]:
    """Put the filter over this thread, and start the command: who asks, and the process."""
    try:
        listener = pipeline.kernel.watch_network()
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise NoTracerError("another tracer looks at this process already (seccomp user notification)") from error
        needs = "Linux 5.5 or newer on x86-64 or aarch64, and no profile around it that forbids seccomp"
        why = f"{error.strerror}: {os.strerror(error.errno or 0)}"
        raise NoTracerError(f"the kernel gives no tracer ({why}); it needs {needs}") from error
    try:
        return listener, subprocess.Popen(command, **settings)
    except (OSError, ValueError):
        os.close(listener)
        raise


def _follow(listener: int, process: "subprocess.Popen[bytes]") -> Trace:
    """Answer until the command has ended, and all that it started; what it left behind has some seconds more."""
    found, ended = Trace(), os.pidfd_open(process.pid)
    poll, until = select.poll(), float("inf")
    poll.register(listener, select.POLLIN)
    poll.register(ended, select.POLLIN)
    try:
        while time.monotonic() < until:
            events = dict(poll.poll(None if until == float("inf") else 200))
            if events.get(listener, 0) & select.POLLIN:
                _answer_one(listener, found)
            elif events.get(listener, 0):  # POLLHUP: nobody is left who could ask
                break
            elif ended in events:
                poll.unregister(ended)
                until = time.monotonic() + _GRACE_SECONDS
    finally:
        os.close(ended)
    found.code = process.wait()
    return found


def _answer_one(listener: int, found: Trace) -> None:
    question = receive(listener)
    if question is None:
        return
    found.looked += 1
    call = _CALLS[question.number]
    try:
        addresses = list(_addresses(call, question))
    except UnreadableError:
        addresses = [Address(UNKNOWN, Where.OUTSIDE)]
    if not is_waiting(listener, question):
        return
    refusal = 0
    if call == "io_uring_setup":
        found.rings += 1
        refusal = errno.ENOSYS
    found.sockets += call == "socket" and question.arguments[0] & 0xFFFFFFFF in (_INET, _INET6)
    for each in addresses:
        if each.where is Where.LOCAL:
            continue
        pid, program = question.process()
        seen = Seen(program, pid, call, each.text, each.where)
        found.seen[seen] += 1
        if seen.where in _OUT:
            refusal = errno.ENETUNREACH
    answer(listener, question, refusal)


def _addresses(call: str, question: Question) -> Iterator[Address]:
    """The addresses that a call names; and of a socket that reaches others without such a call. UnreadableError."""
    a = question.arguments
    if call in _LEAD_OUT:
        yield _LEAD_OUT[call]
    elif call in ("socket", "socketpair"):
        family, kind, protocol = (argument & 0xFFFFFFFF for argument in a[:3])
        if family not in (_INET, _INET6) or kind & _TYPE == _RAW or protocol == _SCTP:
            yield Address(f"family {family}, type {kind & _TYPE}, protocol {protocol}", Where.OUTSIDE)
    elif call in ("connect", "bind"):
        yield _address(question, a[1], a[2], sends=call == "bind")
    elif call == "sendto":
        yield _address(question, a[4], a[5], sends=True)
    elif call in ("sendmsg", "sendmmsg"):
        for n in range(min(a[2] & 0xFFFFFFFF, _MOST_MESSAGES) if call == "sendmmsg" else 1):
            name, size = struct.unpack_from("=QI", question.memory(a[1] + 64 * n, _MESSAGE))
            yield _address(question, name, size, sends=True)


def _address(question: Question, at: int, size: int, *, sends: bool) -> Address:
    if at == 0:
        return Address("none", Where.LOCAL)
    return parse_address(question.memory(at, min(size & 0xFFFFFFFF, _LONGEST)), sends=sends)


_CALLS: Final = {
    number: name
    for name, call in pipeline.kernel.WATCHED.items()
    if (number := call.aarch64 if platform.machine() == "aarch64" else call.x86_64) is not None
}
"""The calls that the kernel asks about, by their numbers on this machine."""
