"""What a process may not do with a network, and which calls are looked at to prove that it does not.

A filter sees numbers, and not what pointers lead to: it cannot tell addresses apart. So a process that computes may
make no socket that leads out of the machine at all, while a tracer is asked about each call that names an address.
"""

import errno
import os
from dataclasses import dataclass

from pipeline.kernel.call import LONG, Call, Check, one_of
from pipeline.kernel.seccomp import ANY_SPEED, LISTENER, LOG, NOTIFY, REFUSE, install

_UNIX, _NETLINK = 1, 16  # linux/socket.h: this machine alone; libc asks the kernel for its interfaces
_LOCAL = one_of(0, _UNIX, _NETLINK)

# fmt: off
REFUSED: dict[str, Call] = {
    "socket": Call(41, 198, "all that leads out of this machine begins with a socket of such a family", _LOCAL),
    "socketpair": Call(53, 199, "pairs of some families (TIPC) can be led elsewhere afterwards", one_of(0, _UNIX)),
    "io_uring_setup": Call(425, 425, "through a ring sockets are made and connected without a call that is filtered"),
    "pidfd_getfd": Call(438, 438, "it takes an open socket out of another process"),
    "request_key": Call(249, 218, "for a key the kernel has a helper resolve a name (dns_resolver), held by no filter"),
}
"""What a process of ours may not do."""

WATCHED: dict[str, Call] = REFUSED | {
    "connect": Call(42, 203, "its address says where to"),
    "bind": Call(49, 200, "its address says for whom"),
    "sendto": Call(44, 206, "its address, if it has one, says where to", ((Check(4, LONG, 0),),)),
    "sendmsg": Call(46, 211, "as sendto; the address stands in its message"),
    "sendmmsg": Call(307, 269, "as sendmsg, for several messages"),
}
"""What a tracer looks at."""
# fmt: on


@dataclass(frozen=True, slots=True)
class Silence:
    """What holds a run's process away from networks: whether calls of Python's own are refused by an audit hook, and
    how native code and all that it starts are held: "refused" by a filter of system calls, "traced" by a tracer above
    it, or "free"."""

    audit_hook: bool
    system_calls: str


def refuse_network(*, traced: bool) -> str:
    """Refuse this thread, and all that it starts, sockets that lead out of the machine, for good; says what came of it:
    "refused"; "traced", with `traced`, where a tracer has its calls already, which a filter would hide from it; "free"
    where the kernel gives no filter.
    """
    try:
        listener = install(REFUSED, REFUSE, LOG | ANY_SPEED | (LISTENER if traced else 0))
    except OSError as error:
        return "traced" if traced and error.errno == errno.EBUSY else "free"
    if traced:
        os.close(listener)  # there is nothing to listen to: it only showed that nobody does
    return "refused"


def watch_network() -> int:
    """Have the kernel ask before this thread, or what it starts, makes a call of WATCHED; the descriptor on which it
    asks. OSError where it cannot, or where somebody listens already."""
    return install(WATCHED, NOTIFY, LISTENER)
