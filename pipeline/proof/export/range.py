"""Where a range of times begins and ends in a log, so that whoever has only the bundles around it can see that no entry
of the range was left out.

Entries follow one another in time, as long as nobody sets the clock back. So it is enough to show that the entries just
before the range are earlier than it and those just behind it later. Where a clock was set, entries of other times stand
beside the range, or within it: those beside it are taken in, until what lies around it is in order.
"""

BEFORE, INSIDE, AFTER = 0, 1, 2


def range_of(sides: bytes | bytearray, bundle: int) -> tuple[int, int]:
    """The smallest range of entries, as (first, end), with all that lie INSIDE, and such that in the bundles of the
    entries next to it all others lie BEFORE it, or AFTER it. `sides` says it of each entry; a bundle has so many."""
    first, end = _seed(sides)
    while (wrong := _before(sides, first, bundle)) is not None:
        first = wrong
    while (wrong := _behind(sides, end, bundle)) is not None:
        end = wrong + 1
    return first, end


def _seed(sides: bytes | bytearray) -> tuple[int, int]:
    """The range from the first entry inside to the last; if there is none, an empty range between what lies before
    and after."""
    if (first := sides.find(INSIDE)) >= 0:
        return first, sides.rfind(INSIDE) + 1
    if sides.startswith(bytes([AFTER])):
        return 0, 0
    pair = sides.find(bytes([BEFORE, AFTER]))
    return (pair + 1, pair + 1) if pair >= 0 else (len(sides), len(sides))


def _before(sides: bytes | bytearray, first: int, bundle: int) -> int | None:
    """The first entry before the range, in the bundle of the one next to it, that does not lie before it in time."""
    shown = range(max(first - 1, 0) // bundle * bundle, first)
    return next((n for n in shown if sides[n] != BEFORE), None)


def _behind(sides: bytes | bytearray, end: int, bundle: int) -> int | None:
    """The last entry behind the range, in the bundle of the one next to it, that does not lie after it in time."""
    shown = range(end, min((end // bundle + 1) * bundle, len(sides)))
    return next((n for n in reversed(shown) if sides[n] != AFTER), None)
