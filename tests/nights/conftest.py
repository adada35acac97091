"""A workspace as the tests of jobs have it."""

from tests.jobs.conftest import cloister, place, ready

__all__ = ["cloister", "place", "ready"]
