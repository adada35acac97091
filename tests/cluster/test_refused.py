"""Who may not take part: other software, other certificates, none; told by name, before a document is sent."""

import asyncio
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline import RunPlan, run
from pipeline.cluster.authority import issue_credential, make_credentials
from pipeline.cluster.calls import Calls
from pipeline.cluster.errors import BadWorkerError, ClusterError, WorkerLostError, WorkerRefusedError
from pipeline.cluster.identity import Identity, check_memory, check_worker, own_identity, parse_identity
from pipeline.cluster.peers import HEAD_ROLE, WORKER_ROLE, read_credential
from pipeline.cluster.serving import run_scheduler
from pipeline.plan import Cluster
from tests.cluster.processes import PATIENCE, Machines
from tests.pipeline.conftest import Witness

OWN = own_identity("head")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"protocol": 99}, "it speaks protocol 99"),
        ({"numerics": "other-1"}, "its arithmetic is other-1"),
        ({"software": {**OWN.software, "source_sha256": "f" * 64}}, "its software is cloister 0.1.0 (ffffffffffff)"),
        ({"software": {**OWN.software, "version": "9.9"}}, "its cloister is 9.9"),
        ({"software": {**OWN.software, "lock_sha256": "0"}}, "the digest of its packages is 0"),
        ({"software": {**OWN.software, "python": "CPython 3.99"}}, "its Python is CPython 3.99"),
        ({"clock": OWN.clock + 7200}, "its clock is 2.0 hours ahead of the head's"),
        ({"clock": OWN.clock - 600}, "its clock is 10 minutes behind the head's"),
    ],
)
def test_a_worker_that_would_compute_otherwise(changes: dict[str, object], said: str) -> None:
    with pytest.raises(WorkerRefusedError) as refused:
        check_worker(OWN, replace(OWN, **changes))  # type: ignore[arg-type]
    assert said in str(refused.value)
    assert ";" in str(refused.value), "and what to do"


def test_a_worker_on_another_kind_of_cpu_is_welcome() -> None:
    check_worker(OWN, replace(OWN, cpu="another", isa="portable", threads=64, host="far", clock=OWN.clock + 100))


def test_a_worker_that_could_never_hold_the_model() -> None:
    with pytest.raises(WorkerRefusedError, match=r"it may take 2.0 GiB of memory, and the model alone has 8.0 GiB;"):
        check_memory(replace(OWN, memory=2 << 30), 8 << 30)
    check_memory(replace(OWN, memory=9 << 30), 8 << 30)
    check_memory(replace(OWN, memory=0), 8 << 30)  # what it has is not known


@pytest.mark.parametrize(
    "wrong",
    [{}, {"protocol": "1"}, {"threads": True}, {"threads": 0}, {"threads": 10**9}, {"software": []}, {"worker": None}],
)
def test_what_is_no_identity(wrong: dict[str, object]) -> None:
    message = {**OWN.to_json(), **wrong} if wrong else {}
    with pytest.raises(BadWorkerError):
        parse_identity(message)
    assert isinstance(parse_identity(OWN.to_json()), Identity)


def refused(plan: RunPlan, cluster: Cluster) -> str:
    """The message of a run that is refused before it touches a document."""
    (plan.input.folder / "a.txt").write_text("An invoice: total due.")
    with pytest.raises(ClusterError) as error:
        run(replace(plan, cluster=cluster), observer=Witness())
    assert [path.name for path in plan.input.folder.iterdir()] == ["a.txt"]
    return str(error.value)


def test_a_wrong_address(plan: RunPlan, two: Machines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.cluster.calls.CONNECT_SECONDS", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        said = refused(plan, replace(two.cluster, scheduler=f"tls://127.0.0.1:{port}"))
    assert f"cluster tls://127.0.0.1:{port}: no scheduler answers there" in said


def test_a_head_of_another_authority(plan: RunPlan, two: Machines, tmp_path: Path) -> None:
    head, _ = make_credentials(tmp_path / "others")
    assert "its authority is the one of this workspace's credential" in refused(
        plan, replace(two.cluster, credential=head)
    )


def test_a_worker_s_credential_is_no_head_s(plan: RunPlan, two: Machines) -> None:
    assert "is for a worker, and not for a head" in refused(plan, replace(two.cluster, credential=two.worker))


@pytest.fixture
def stranger(two: Machines, tmp_path: Path) -> Iterator[Machines]:
    """A worker whose credential another authority made."""
    found = Machines(tmp_path, port=two.port)
    found.start_worker("stranger", listed=False)
    yield found
    found.end()


def test_a_worker_of_another_authority_says_so_and_ends(stranger: Machines) -> None:
    worker = stranger.workers["stranger"]
    assert worker.process.wait(PATIENCE) == 2
    assert "are of different authorities" in worker.log.read_text()


def heard_without_certificate(port: int, context: ssl.SSLContext) -> bytes:
    """What the scheduler says to a client without a certificate. ssl.SSLError, ConnectionError."""
    with socket.create_connection(("127.0.0.1", port)) as plain, context.wrap_socket(plain) as secured:
        secured.settimeout(20)
        if heard := secured.recv(1024):
            return heard
    raise ConnectionError("it was closed")


def test_without_a_certificate_nobody_hears_a_byte(two: Machines) -> None:
    """Neither to one without TLS, nor to one whose certificate is missing."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", two.port)) as plain:
        plain.sendall(b"\x00" * 64)
        plain.settimeout(20)
        with suppress(ConnectionResetError):
            assert plain.recv(1024) == b"", "it is closed"
    with pytest.raises((ssl.SSLError, ConnectionError)):
        heard_without_certificate(two.port, context)


@pytest.mark.parametrize("asked", ["terminate", "feed", "run_function", "dump_cluster_state_to_url", "retire_workers"])
def test_a_scheduler_only_lists(two: Machines, asked: str) -> None:
    """Whoever has a worker's credential can neither end it, nor have it do anything else."""

    async def ask() -> Mapping[str, Any]:
        calls = Calls(two.address, read_credential(two.worker, WORKER_ROLE))
        try:
            with pytest.raises((WorkerLostError, BadWorkerError)):
                await calls._asked(asked, 5.0, 1 << 20, {"close": True})
            return await calls.listed()
        finally:
            await calls.close()

    assert len(asyncio.run(ask())) == 2


def test_a_port_that_is_taken(two: Machines) -> None:
    credential = read_credential(two.head, HEAD_ROLE)
    with pytest.raises(ClusterError, match="Address already in use; choose another"):
        asyncio.run(run_scheduler(two.host, two.port, credential, asyncio.Event(), print))


def test_a_credential_needs_no_folder_before(tmp_path: Path) -> None:
    issue_credential(tmp_path / "keys" / "cluster", tmp_path / "x.pem", WORKER_ROLE)
    assert read_credential(tmp_path / "x.pem", WORKER_ROLE)
