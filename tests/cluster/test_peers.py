"""Credentials: who may speak to whom, and what is wrong with a file that is none."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipeline.cluster.authority import issue_credential, make_credentials
from pipeline.cluster.errors import ClusterError
from pipeline.cluster.peers import HEAD_ROLE, WORKER_ROLE, read_credential, role_of


def test_credentials_are_made_once_and_nobody_else_may_read_them(tmp_path: Path) -> None:
    head, worker = made = make_credentials(tmp_path / "keys")
    before = [path.read_bytes() for path in made]
    assert make_credentials(tmp_path / "keys") == made
    assert [path.read_bytes() for path in made] == before
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "keys").iterdir()} == {0o600}
    ours, theirs = read_credential(head, HEAD_ROLE), read_credential(worker, WORKER_ROLE)
    assert ours.authority == theirs.authority
    assert ours.key != theirs.key


def test_a_credential_is_for_one_role(tmp_path: Path) -> None:
    head, worker = make_credentials(tmp_path)
    with pytest.raises(ClusterError, match="is for a head, and not for a worker"):
        read_credential(head, WORKER_ROLE)
    with pytest.raises(ClusterError, match="is for a worker, and not for a head"):
        read_credential(worker, HEAD_ROLE)


def test_an_expired_credential_says_when_and_what_to_do(tmp_path: Path) -> None:
    old = datetime(2020, 1, 2, tzinfo=UTC)
    issue_credential(tmp_path, tmp_path / "old.pem", WORKER_ROLE, old)
    with pytest.raises(ClusterError, match=r"expired on 2022-01-01; `cloister cluster credential`"):
        read_credential(tmp_path / "old.pem", WORKER_ROLE)
    with pytest.raises(ClusterError, match="is the clock right"):
        read_credential(tmp_path / "old.pem", WORKER_ROLE, old - timedelta(days=1))


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "found 0 parts"), (b"\xff\xfe", "no PEM file"), (b"-----BEGIN PRIVATE KEY-----\n", "found 1 parts")],
)
def test_what_is_no_credential(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(ClusterError, match=said):
        read_credential(path, HEAD_ROLE)
    with pytest.raises(ClusterError, match="No such file"):
        read_credential(tmp_path / "none.pem", HEAD_ROLE)


def test_a_credential_that_others_may_read_is_refused(tmp_path: Path) -> None:
    head, _ = make_credentials(tmp_path)
    head.chmod(0o640)
    with pytest.raises(ClusterError, match="chmod 600"):
        read_credential(head, HEAD_ROLE)


def test_a_peer_without_a_role_has_none() -> None:
    assert role_of(None) == ""
    assert role_of({"subject": ((("commonName", "head"),),)}) == ""
    assert role_of({"subject": ((("commonName", "x"),), (("organizationalUnitName", "head"),))}) == "head"
