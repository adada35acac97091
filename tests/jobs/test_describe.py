"""What commands say of jobs and runs in a person's words."""

import pytest

from jobs.cli.describe import pace_of


@pytest.mark.parametrize(
    ("documents", "seconds", "told"),
    [
        (23, 15.0, "1.5 a second"),
        (30_000, 10.0, "3,000.0 a second"),
        (5, 5.0, "1.0 a second"),
        (830, 3600.0, "830 an hour"),
        (1, 61.0, "59 an hour"),
        (100, 433.7, "830 an hour"),
        (3, 3600.0, "3 an hour"),
        (1, 7000.0, "0.51 an hour"),
        (1, 90_000.0, "0.04 an hour"),
    ],
)
def test_a_pace_always_says_something(documents: int, seconds: float, told: str) -> None:
    assert pace_of(documents, seconds) == told
