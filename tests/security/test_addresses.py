"""Addresses as the kernel is given them, and where they lead."""

import socket
import struct
from ipaddress import ip_address

import pytest

from jobs.trust.tracer import Address, Where, parse_address


def inet(host: str, port: int, family: int = socket.AF_INET) -> bytes:
    return struct.pack("=H", family) + struct.pack("!H4s8x", port, ip_address(host).packed)


def inet6(host: str, port: int) -> bytes:
    return struct.pack("=H", socket.AF_INET6) + struct.pack("!HI16sI", port, 0, ip_address(host).packed, 0)


@pytest.mark.parametrize(
    ("raw", "text", "where"),
    [
        (inet("127.0.0.1", 8080), "127.0.0.1:8080", Where.LOOPBACK),
        (inet("127.9.8.7", 1), "127.9.8.7:1", Where.LOOPBACK),
        (inet("0.0.0.0", 0), "0.0.0.0:0", Where.OUTSIDE),
        (inet("10.1.2.3", 443), "10.1.2.3:443", Where.OUTSIDE),
        (inet("127.0.0.53", 53), "127.0.0.53:53", Where.NAME),
        (inet("192.0.2.1", 853), "192.0.2.1:853", Where.NAME),
        (inet6("::1", 80), "[::1]:80", Where.LOOPBACK),
        (inet6("::", 80), "[::]:80", Where.OUTSIDE),
        (inet6("::ffff:127.0.0.1", 80), None, Where.LOOPBACK),
        (inet6("::ffff:192.0.2.1", 80), None, Where.OUTSIDE),
        (inet6("2001:db8::1", 5353), "[2001:db8::1]:5353", Where.NAME),
        (struct.pack("=H", 1) + b"/run/x\0rest", "/run/x", Where.LOCAL),
        (struct.pack("=H", 1) + b"\0abstract", "@abstract", Where.LOCAL),
        (struct.pack("=H", 1) + b"/run/systemd/resolve/io.systemd.Resolve\0", None, Where.NAME),
        (struct.pack("=HHII", 16, 0, 0, 0), "family 16", Where.LOCAL),
        (struct.pack("=H", 17) + bytes(18), None, Where.OUTSIDE),
        (struct.pack("=H", 40) + bytes(14), None, Where.OUTSIDE),
        (struct.pack("=H", 2), "a short address of IPv4", Where.OUTSIDE),
        (struct.pack("=H", 10) + bytes(10), "a short address of IPv6", Where.OUTSIDE),
        (b"", "none", Where.LOCAL),
    ],
    ids=str,
)
def test_where_an_address_leads(raw: bytes, text: str | None, where: Where) -> None:
    address = parse_address(raw, sends=False)
    assert address.where is where
    assert text is None or address.text == text


def test_a_family_of_0_ends_a_connection_but_is_sent_to_as_ipv4_is() -> None:
    raw = inet("192.0.2.1", 9, family=socket.AF_UNSPEC)
    assert parse_address(raw, sends=False) == Address("family 0", Where.LOCAL)
    assert parse_address(raw, sends=True) == Address("192.0.2.1:9", Where.OUTSIDE)
