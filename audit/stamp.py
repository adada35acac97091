"""When, where and by whom a commit was made: what the log itself says in each entry."""

import os
import pwd
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True)
class Stamp:
    """`time` is UTC, RFC 3339 with microseconds. `uptime_us` counts microseconds since the start of the machine that
    `boot` names, sleep included: unlike `time` it cannot be set, so it shows a clock that was."""

    time: str
    boot: str
    uptime_us: int
    host: str
    user: str


def stamp_now() -> Stamp:
    return Stamp(
        time=datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        boot=Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
        uptime_us=time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000,
        host=os.uname().nodename,
        user=_user(),
    )


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # a container's user without a line in /etc/passwd
        return str(os.geteuid())
