"""A workspace with a small model, as the tests of the commands have it."""

from tests.jobs.conftest import cloister, place, ready  # noqa: F401
