"""How a figure of a baseline is held against that of now: each rule says what changed, or nothing."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from jobs.doctor.base import Compared, Figure, shown_bytes

_LISTED = 8


def same(before: Figure, now: Figure) -> str | None:
    """Any change matters. Of several values those are named that came, went or changed."""
    if before == now:
        return None
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        return _listed(_of_mappings(before, now))
    if _is_list(before) and _is_list(now):
        gone, new = [each for each in before if each not in now], [each for each in now if each not in before]
        return _listed([*(f"{each} is gone" for each in gone), *(f"{each} is new" for each in new)])
    return f"was {_shown(before)}, is {_shown(now)}"


def less_bytes(share: float) -> Compared:
    """Make the rule that so many bytes less than before matter, as a share of what there was."""

    def compare(before: Figure, now: Figure) -> str | None:
        if not (_is_number(before) and _is_number(now)) or now >= before * (1 - share):
            return None
        return f"were {shown_bytes(before)}, are {shown_bytes(now)}"

    return compare


def fewer(before: Figure, now: Figure) -> str | None:
    """Less than before matters: what is counted can only grow, or should not shrink."""
    if not (_is_number(before) and _is_number(now)) or now >= before:
        return None
    return f"were {before:,}, are {now:,}"


def slower(factor: float, least: float) -> Compared:
    """Make the rule that milliseconds matter which are `factor` times those of before, and `least` more."""

    def compare(before: Figure, now: Figure) -> str | None:
        if not (_is_number(before) and _is_number(now)) or now < before * factor or now < before + least:
            return None
        times = f"{now / before:,.1f} times as long" if before else "longer"
        return f"took {before:.2f} ms, and take {now:.2f} ms now: {times}"

    return compare


def _of_mappings(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changes = []
    for name in sorted({*before, *now}):
        if name not in now:
            changes.append(f"{name} {before[name]} is gone")
        elif name not in before:
            changes.append(f"{name} {now[name]} is new")
        elif before[name] != now[name]:
            changes.append(f"{name} was {before[name]}, is {now[name]}")
    return changes


def _listed(changes: Sequence[str]) -> str | None:
    more = f"; and {len(changes) - _LISTED:,} more" if len(changes) > _LISTED else ""
    return "; ".join(changes[:_LISTED]) + more if changes else None


def _shown(value: Figure) -> str:
    if value is None:
        return "none"
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _is_number(value: Figure) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Figure) -> TypeGuard[Sequence[str]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
