"""Addresses of sockets, as the kernel is given them (struct sockaddr), and whether they lead out of the machine."""

import os
import struct
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Final

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


class Where(StrEnum):
    """Where a call leads."""

    LOCAL = "local"
    """To this machine, without an internet address."""
    LOOPBACK = "loopback"
    NAME = "name resolution"
    OUTSIDE = "outside"


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
        return _inet(raw)
    if family == _INET6:
        return _inet6(raw)
    if family == _UNIX:
        path = os.fsdecode(raw[2:].split(b"\0")[0] or b"@" + raw[3:].rstrip(b"\0"))
        return Address(path, Where.NAME if path.startswith(_RESOLVERS) else Where.LOCAL)
    if family in (_UNSPECIFIED, _NETLINK):
        return Address(f"family {family}", Where.LOCAL)
    return Address(f"family {family}: {raw[2:16].hex()}", Where.OUTSIDE)


def _inet(raw: bytes) -> Address:
    if len(raw) < 8:
        return Address("a short address of IPv4", Where.OUTSIDE)
    port, host = struct.unpack_from("!H4s", raw, 2)
    address = IPv4Address(host)
    return Address(f"{address}:{port}", _where(address, port))


def _inet6(raw: bytes) -> Address:
    if len(raw) < 24:
        return Address("a short address of IPv6", Where.OUTSIDE)
    port, _, host = struct.unpack_from("!HI16s", raw, 2)
    address = IPv6Address(host)
    return Address(f"[{address}]:{port}", _where(address.ipv4_mapped or address, port))


def _where(address: IPv4Address | IPv6Address, port: int) -> Where:
    if port in _RESOLVER_PORTS:
        return Where.NAME
    return Where.LOOPBACK if address.is_loopback else Where.OUTSIDE
