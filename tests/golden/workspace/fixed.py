"""What the golden workspace was made with in the place of clocks, chance and this machine's names."""

import hashlib
import sys
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

BEGUN = datetime(2026, 8, 1, 22, 0, tzinfo=UTC)
BOOTS = ("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b811-9dad-11d1-80b4-00c04fd430c8")


class Clock:
    """Each look at it takes a millisecond. `step` sets the clock and not the uptime; `boot` starts the machine anew."""

    def __init__(self) -> None:
        self.now, self.uptime_us, self.boot_id = BEGUN, 60_000_000, BOOTS[0]

    def tick(self) -> datetime:
        self.sleep(timedelta(milliseconds=1))
        return self.now

    def sleep(self, time: timedelta) -> None:
        self.now += time
        self.uptime_us += time // timedelta(microseconds=1)

    def step(self, time: timedelta) -> None:
        self.now += time

    def boot(self) -> None:
        self.boot_id, self.uptime_us = BOOTS[1], 30_000_000


class Chance:
    """Bytes that nobody could tell from random ones, the same each time."""

    def __init__(self) -> None:
        self.count = 0

    def bytes(self, size: int | None = None) -> bytes:
        self.count += 1
        return hashlib.shake_256(b"golden %d" % self.count).digest(size or 32)

    def hex(self, size: int | None = None) -> str:
        return self.bytes(size).hex()


def fix(clock: Clock) -> None:
    """Put them into this process."""
    chance = Chance()
    module("secrets").token_bytes, module("secrets").token_hex = chance.bytes, chance.hex
    stamp = module("audit.stamp")
    stamp.datetime = SimpleNamespace(now=lambda zone: clock.tick())
    stamp.time = SimpleNamespace(CLOCK_BOOTTIME=0, clock_gettime_ns=lambda which: clock.uptime_us * 1000)
    stamp.Path = lambda path: SimpleNamespace(read_text=lambda encoding: clock.boot_id)
    stamp.os = SimpleNamespace(uname=lambda: SimpleNamespace(nodename="archive-1"))
    stamp._user = lambda: "cloister"
    module("pipeline.run").datetime = SimpleNamespace(now=lambda zone: clock.tick())
    module("pipeline.handover")._name_of = lambda uid: "ada"
    seeds = iter(bytes(range(first, first + 32)) for first in (0x00, 0x40))
    module("audit.sign").Ed25519PrivateKey = SimpleNamespace(
        generate=lambda: Ed25519PrivateKey.from_private_bytes(next(seeds)),
        from_private_bytes=Ed25519PrivateKey.from_private_bytes,
    )


def module(name: str) -> Any:
    """A module that is imported already, under the name that it had then."""
    return sys.modules[name]
