"""`cloister cluster up` and `down`: what runs on this machine is found again by each command of the workspace."""

from collections.abc import Iterator

import pytest

from jobs.nights.cluster import end, read_local
from tests.jobs.conftest import Cloister, Place


@pytest.fixture
def alone(place: Place) -> Iterator[Place]:
    """A workspace of which no process of a cluster is left behind."""
    yield place
    if local := read_local(place.root):
        end(local)


@pytest.mark.parametrize("workers", [0, 1])
def test_what_runs_here_is_found_again_and_ended(workers: int, alone: Place, cloister: Cloister) -> None:
    started = cloister("cluster", "up", "--workers", str(workers), "--port", "0", "--json")
    assert started.code == 0, started.err
    address = started.json["address"]
    assert [process["what"] for process in started.json["processes"]] == ["scheduler", "worker-1"][: 1 + workers]
    found = cloister("cluster", "status", "--json")
    assert (found.code, found.json["address"], len(found.json["workers"])) == (0 if workers else 7, address, workers)
    again = cloister("cluster", "up", "--port", "0")
    assert again.code == 2
    assert f"runs already, at {address}" in again.err
    assert cloister("cluster", "down", "--json").json == {"ended": 1 + workers}
    assert cloister("cluster", "down", "--json").json == {"ended": 0}


@pytest.mark.parametrize("address", ["localhost:8786", "tcp://localhost:8786", "tls://localhost", "tls://a:1\n"])
def test_a_worker_does_not_wait_at_what_is_no_address(address: str, place: Place, cloister: Cloister) -> None:
    done = cloister("worker", address, "--credential", place.root / "none.pem", "--models", place.root / "models")
    assert (done.code, f"worker: the address {address!r}" in done.err) == (2, True)
    assert "expected: tls://HOST:PORT" in done.err
