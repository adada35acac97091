"""The site's own authority for its cluster: it makes the credentials of the head and of workers."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

import audit
from pipeline.cluster.errors import ClusterError
from pipeline.cluster.peers import HEAD_ROLE, WORKER_ROLE

_YEARS: Final = timedelta(days=3652)
_VALID: Final = timedelta(days=730)
_EARLY: Final = timedelta(minutes=10)  # clocks of a building differ a little


def make_credentials(folder: Path) -> tuple[Path, Path]:
    """The credentials of the head and of workers in a folder, which are made with their authority if they are not there
    yet. OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    head, worker = folder / f"{HEAD_ROLE}.pem", folder / f"{WORKER_ROLE}.pem"
    for path, role in ((head, HEAD_ROLE), (worker, WORKER_ROLE)):
        if not path.exists():
            issue_credential(folder, path, role)
    return head, worker


def issue_credential(folder: Path, path: Path, role: str, now: datetime | None = None) -> None:
    """Make a credential of the authority in `folder`. ClusterError, OSError."""
    now = now or datetime.now(UTC)
    authority, signer = _authority(folder, now)
    key = Ed25519PrivateKey.generate()
    certificate = (
        _certificate(_name(f"cloister {role}", role), authority.subject, key, now, _VALID)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]), critical=False
        )
        .sign(signer, None)
    )
    parts = [_pem(key), *(each.public_bytes(Encoding.PEM) for each in (certificate, authority))]
    audit.write_file_atomically(path, b"".join(parts), mode=0o600)


def _authority(folder: Path, now: datetime) -> tuple[x509.Certificate, Ed25519PrivateKey]:
    """The authority's certificate and key, made at the first time."""
    path = folder / "authority.pem"
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        key, name = Ed25519PrivateKey.generate(), _name("cloister cluster authority", "authority")
        made = (
            _certificate(name, name, key, now, _YEARS)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(key, None)
        )
        audit.write_file_atomically(path, _pem(key) + made.public_bytes(Encoding.PEM), mode=0o600)
    data = path.read_bytes()
    try:
        key = load_pem_private_key(data, None)  # type: ignore[assignment]
        certificate = x509.load_pem_x509_certificate(data)
    except (ValueError, TypeError) as error:
        raise ClusterError(f"{path}: the authority of the cluster cannot be read: {error}") from error
    return certificate, key


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: Ed25519PrivateKey, now: datetime, valid: timedelta
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLY)
        .not_valid_after(now + valid)
    )


def _name(common: str, unit: str) -> x509.Name:
    return x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, common), x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit)]
    )


def _pem(key: Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
