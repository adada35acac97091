"""The log's own clock: how much time has passed by its entries, whatever the machine's clock was set to meanwhile.

Within one boot the uptime counts, which nobody can set. Between two boots there is only the machine's clock: backwards
it counts for nothing; forwards it is believed, until a step back within the same boot takes it back.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

STEP = timedelta(seconds=2)
"""What uptime and clock may disagree by: less may be a pause between two looks at them."""
_SILENCE = timedelta(days=7)
_NONE = timedelta()


class Stamped(Protocol):
    """An entry, or a stamp after the last one."""

    @property
    def time(self) -> str: ...
    @property
    def boot(self) -> str: ...
    @property
    def uptime_us(self) -> int: ...


@dataclass
class LogClock:
    """Made by reading every entry, in order."""

    _last: tuple[datetime, str, int] | None = None  # time, boot, uptime in microseconds
    _ahead: timedelta = _NONE  # of the machine's clock before this one
    _gap: timedelta = _NONE  # between the last entry of the boot before and the first one of this boot
    _longest: timedelta = _NONE  # of all gaps before
    _doubt: str | None = None

    def read(self, entry: Stamped) -> datetime:
        """The moment of the next entry, or of a stamp after the last one, by the log's clock."""
        now = datetime.fromisoformat(entry.time), entry.boot, entry.uptime_us
        last, self._last, self._doubt = self._last, now, None
        if last is not None and last[1] and last[1] == now[1]:
            self._same_boot(now[0] - last[0] - timedelta(microseconds=now[2] - last[2]), last[0])
        elif last is not None:
            self._next_boot(now[0] - last[0], last[0])
        return now[0] - self._ahead

    @property
    def doubt(self) -> str | None:
        """Why the machine's clock is not to be believed at the moment that was read last; None if it agrees."""
        return self._doubt

    def _same_boot(self, step: timedelta, last: datetime) -> None:
        if abs(step) <= STEP:
            return
        self._doubt = f"the clock was set {_days(step)} since {_text(last)}"
        taken_back = min(max(-step, _NONE), self._gap)
        self._gap -= taken_back
        self._ahead += step + taken_back

    def _next_boot(self, passed: timedelta, last: datetime) -> None:
        self._longest, self._gap = max(self._longest, self._gap), max(passed, _NONE)
        if passed < _NONE:
            self._ahead += passed
            self._doubt = f"the clock is {_days(passed)} of the entry of {_text(last)}"
        elif self._gap > max(_SILENCE, 2 * self._longest):
            self._doubt = f"the clock is {_days(passed)} of the entry of {_text(last)}, which was made before this boot"


def to_text(moment: datetime) -> str:
    """A moment as entries have it, so that texts sort as times do."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _days(step: timedelta) -> str:
    size = abs(step)
    told = f"{size / timedelta(days=1):,.1f} days" if size >= timedelta(days=1) else f"{size.total_seconds():,.0f} s"
    return f"{told} {'ahead' if step > _NONE else 'back'}"


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
