"""Being asked to stop: the first SIGTERM or SIGINT asks, a second one interrupts, a third one kills."""

import os
import select
import signal
from types import FrameType

COMMITTING = "Stopping: what is computed is being committed. Once more to stop at once."
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A flag that signals set, and a wait that they end. Use it as a context manager, in the main thread.

    A terminal gets `notice` at the first signal.
    """

    def __init__(self, notice: str = COMMITTING) -> None:
        self.notice = notice
        self.signal: signal.Signals | None = None
        self._reader, self._writer = os.pipe()  # an Event may deadlock when its own thread's signal handler sets it
        self._before = {number: signal.getsignal(number) for number in _SIGNALS}

    def __enter__(self) -> "Stop":
        for number in _SIGNALS:
            signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def __call__(self) -> bool:
        """Whether stopping was asked for."""
        return self.signal is not None

    def wait(self, seconds: float, *others: int) -> bool:
        """Waits for that long, or until stopping is asked for or one of `others` can be read; says whether to stop."""
        select.select([self._reader, *others], [], [], seconds)
        return self()

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self.signal is not None:
            for each in _SIGNALS:
                signal.signal(each, signal.SIG_DFL)
            raise KeyboardInterrupt
        self.signal = signal.Signals(number)
        os.write(self._writer, b"!")
        if os.isatty(2):
            os.write(2, f"\n{self.notice}\n".encode())
