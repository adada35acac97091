"""A system call as filters speak of it: its numbers, why it is named, and with which arguments it passes."""

from typing import NamedTuple

WORD = 0xFFFF_FFFF
"""The bits of an argument of 32 bits."""
LONG = 0xFFFF_FFFF_FFFF_FFFF
"""The bits of a whole argument."""
SELF = -1
"""In place of a value: the number of the process that is locked."""


class Check(NamedTuple):
    """An argument of a call passes if its bits in `mask` are `value`. Arguments are counted from 0."""

    argument: int
    mask: int
    value: int


class Call(NamedTuple):
    """A call passes if all tests of one of `ways` are passed. Numbers are those of linux/arch/x86/entry/syscalls/
    syscall_64.tbl and of asm-generic/unistd.h (aarch64); None where an architecture has no such call."""

    x86_64: int | None
    aarch64: int | None
    why: str
    ways: tuple[tuple[Check, ...], ...] = ()


def one_of(argument: int, *values: int) -> tuple[tuple[Check, ...], ...]:
    """The ways to check that an argument of 32 bits (a descriptor, a command, a family) is one of `values`."""
    return tuple((Check(argument, WORD, value),) for value in values)
