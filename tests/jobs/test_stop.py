"""Signals: the first asks, the second interrupts, the third kills."""

import os
import signal
import time

import pytest

from jobs.stop import Stop


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_asks_and_the_second_interrupts(
    number: signal.Signals, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.isatty", lambda _: True)
    before = signal.getsignal(number)
    with Stop() as stop:
        assert not stop()
        os.kill(os.getpid(), number)
        assert stop.wait(5)
        assert stop()
        assert stop.signal == number
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), number)
        assert signal.getsignal(number) == signal.SIG_DFL
    assert signal.getsignal(number) == before
    assert "Once more to stop at once" in capfd.readouterr().err


def test_a_terminal_is_told_what_stops(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.isatty", lambda _: True)
    with Stop("The service goes on."):
        os.kill(os.getpid(), signal.SIGTERM)
    assert capfd.readouterr().err == "\nThe service goes on.\n"


def test_a_wait_ends_by_itself_too() -> None:
    with Stop() as stop:
        begun = time.monotonic()
        assert not stop.wait(0.01)
        assert time.monotonic() - begun < 60
