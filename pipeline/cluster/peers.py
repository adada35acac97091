"""Who may speak to whom: certificates of the site's own authority, and what they say of their holder."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.x509.oid import NameOID
from distributed import Security

from pipeline.cluster.errors import ClusterError

HEAD_ROLE, WORKER_ROLE = "head", "worker"
"""What a certificate says that its holder is: its organizational unit."""


@dataclass(frozen=True)
class Credential:
    """A file with a private key, its certificate and that of the authority, as PEM, in this order."""

    path: Path
    key: str
    certificate: str
    authority: str

    @property
    def security(self) -> Security:
        """TLS 1.3 with this credential, in both directions."""
        import ssl

        mine: Mapping[str, Any] = {
            f"tls_{role}_{part}": getattr(self, name)
            for role in ("client", "worker", "scheduler")
            for part, name in (("cert", "certificate"), ("key", "key"))
        }
        return Security(  # type: ignore[no-untyped-call]
            require_encryption=True, tls_ca_file=self.authority, tls_min_version=ssl.TLSVersion.TLSv1_3, **mine
        )


def read_credential(path: Path, role: str, now: datetime | None = None) -> Credential:
    """The credential in a file, for who is `role`. ClusterError for a file that is none, that others may read, whose
    certificate is expired or not valid yet, or is for the other role."""
    try:
        if path.stat().st_mode & 0o077:
            raise ClusterError(f"{path}: others may read this private key; chmod 600 {path}")
        text = path.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        told = error.strerror if isinstance(error, OSError) else "it is no PEM file"
        raise ClusterError(f"{path}: {told}; `cloister cluster up` on the head makes credentials") from error
    parts = [f"-----BEGIN {part}" for part in text.split("-----BEGIN ")[1:]]
    if len(parts) != 3 or "PRIVATE KEY" not in parts[0]:
        raise ClusterError(
            f"{path}: expected a private key, its certificate and its authority's, found {len(parts)} parts"
        )
    try:
        certificate = x509.load_pem_x509_certificate(parts[1].encode())
    except ValueError as error:
        raise ClusterError(f"{path}: its certificate cannot be read: {error}") from error
    now, begins, ends = now or datetime.now(UTC), certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > ends:
        remedy = "`cloister cluster credential` makes another"
        raise ClusterError(f"{path}: its certificate expired on {ends:%Y-%m-%d}; {remedy}")
    if now < begins:
        raise ClusterError(f"{path}: its certificate is valid from {begins:%Y-%m-%d %H:%M} UTC on; is the clock right?")
    units = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATIONAL_UNIT_NAME)
    found = str(units[0].value) if units else ""
    if found != role:
        raise ClusterError(f"{path}: this credential is for a {found or 'holder without a role'}, and not for a {role}")
    return Credential(path, *parts)


def role_of(peer: Mapping[str, Any] | None) -> str:
    """What the certificate of a peer, as the module ssl describes it, says that it is; "" for none."""
    for names in (peer or {}).get("subject", ()):
        for name, value in names:
            if name == "organizationalUnitName":
                return str(value)
    return ""
