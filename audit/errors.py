"""The errors of the log. Every message says what, where, found, expected, and the remedy if there is one."""

RESTORE = "restore the whole workspace from a backup (`cloister restore`), not the log alone"
NAME_FIRST = f"`cloister audit verify` names the first wrong entry; {RESTORE}"


class AuditError(Exception):
    """The log cannot be trusted, written or held: whoever works with it must stop."""


class LogUntrusted(AuditError):  # noqa: N818
    """The folder holds something else than the trusted key signed. Nothing was changed. `message` is without remedy."""

    def __init__(self, where: str, message: str, remedy: str = NAME_FIRST) -> None:
        super().__init__(f"{where}: {message}; {remedy}")
        self.where = where
        self.message = message


class LogUnwritable(AuditError):  # noqa: N818
    """The log could not be written or read (permission, read-only or network file system, full disk)."""


class LogHeld(AuditError):  # noqa: N818
    """Another process is the writer. `pid` and `since` (RFC 3339) are None where the kernel does not tell."""

    def __init__(self, where: str, host: str, pid: int | None, since: str | None) -> None:
        who = f"process {pid}, started {since}" if pid is not None else "a process that the kernel does not name"
        super().__init__(f"{where}: held by {who}, on {host}; wait for it to end, or stop it")
        self.host = host
        self.pid = pid
        self.since = since


class KeyRefused(AuditError):  # noqa: N818
    """A signing or verifying key that is malformed, readable by others, or not the one this log trusts. The log itself
    is not in doubt. `found` is without remedy."""

    def __init__(self, found: str, remedy: str | None = None) -> None:
        super().__init__(f"{found}; {remedy}" if remedy else found)
        self.found = found
        self.remedy = remedy


class ProofRefused(AuditError):  # noqa: N818
    """A proof or a kept checkpoint that does not show what it should, or one that a witness does not cosign."""
