"""The keys of a site file, which hold for all jobs of a workspace."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from jobs.config.section import Items, RefusedValueError, Section, Text, inside
from jobs.config.when import SiteNotifyConfig

ORIGIN = r"^[^\s+]{1,200}$"
CLUSTER_ADDRESS = r"^tls://(?:[^\s/:\[\]]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$"
ORIGIN_MEANS = "a name without spaces and '+', at most 200 characters, that no other log has"


def _collected(path: str) -> str:
    """A path of which the node exporter's collector reads the file."""
    if not path.endswith(".prom"):
        expected = "a path that ends in .prom: the collector of the node exporter reads no other files"
        raise RefusedValueError(f"the file {path!r}", expected)
    return inside(path)


RoleName = Literal["reader", "reviewer", "operator", "auditor"]


class LogConfig(Section):
    """The audit log of the workspace."""

    origin: Annotated[str, StringConstraints(pattern=ORIGIN)] = Field(description=ORIGIN_MEANS)
    key: Annotated[Text, AfterValidator(inside)] = Field(description="the file of the signing key")
    public_key: Text = Field(description="the public half, as a C2SP verifier key; what verification trusts")
    passphrase_file: Annotated[Text, AfterValidator(inside)] | None = Field(
        None,
        description="the file of the signing key's passphrase, if it has one; if left out, the systemd credential "
        "cloister-key-passphrase",
    )
    verify_days: int | None = Field(
        None,
        ge=1,
        le=3650,
        description="a log that `cloister audit verify` did not find right for so many days needs a person, say "
        "`cloister status --check` and `notify`; without end if left out",
    )


class LimitsConfig(Section):
    """Limits for all jobs; what goes beyond them is that document's failure."""

    document_mib: int = Field(256, ge=1, le=65536, description="size of one document, in MiB")
    parse_seconds: float = Field(60.0, gt=0, le=86400, description="time to read one document, in seconds")
    parse_memory_mib: int = Field(1024, ge=128, le=1_048_576, description="memory to read one document, in MiB")
    text_characters: int = Field(10_000_000, ge=1000, le=10**9, description="length of the text of one document")
    document_tokens: int = Field(
        1_000_000, ge=100, le=10**9, description="length of the text of one document in tokens of the job's model"
    )
    document_seconds: float = Field(
        7200.0, gt=0, le=604_800, description="time in which a model works on one document, in seconds"
    )
    isolation: Literal["required", "best_effort"] = Field(
        "required", description="whether documents are read where the machine does not let parsers be held"
    )
    unpacked_depth: int = Field(5, ge=1, le=50, description="how deep archives and mails may lie in one another")
    unpacked_documents: int = Field(
        10_000, ge=1, le=1_000_000, description="documents in one archive or mail, with those in what it holds"
    )
    unpacked_mib: int = Field(1024, ge=1, le=1_048_576, description="size to which one archive or mail unpacks, in MiB")
    unpacked_ratio: int = Field(
        200, ge=2, le=100_000, description="beyond 64 MiB, how many times its own size an archive may unpack to"
    )


class ModelsConfig(Section):
    """Which models and heads jobs may use."""

    require_admission: bool = Field(
        False,
        description="jobs run only with models and heads that `cloister model admit` admitted; one that was revoked is "
        "refused in any case",
    )


class EncryptionConfig(Section):
    """Encryption of what is kept of documents: their bytes, texts and results."""

    key_file: Annotated[Text, AfterValidator(inside)] | None = Field(
        None,
        description="the file of the key that wraps all others; if left out, the systemd credential "
        "cloister-encryption-key",
    )
    previous_key_file: Annotated[Text, AfterValidator(inside)] | None = Field(
        None,
        description="the file of the key before it, until `cloister encryption rewrap` has wrapped all others anew; if "
        "left out, the systemd credential cloister-encryption-key-previous, if there is one",
    )
    new_files: Literal["encrypted", "clear"] = Field(
        "encrypted",
        description="how files are written from now on; `clear` ends encryption, and old files stay readable",
    )


class ServiceConfig(Section):
    """The service (`cloister serve`)."""

    log_file: Annotated[Text, AfterValidator(inside)] | None = Field(
        None,
        description="a file, absolute or below the workspace, that gets the lines of the service as JSON, beside "
        "stderr; they hold no text of documents, and of private jobs no names",
    )
    log_bytes: int = Field(
        10_000_000, ge=100_000, le=10**10, description="beyond so many bytes the log file is put aside and begun anew"
    )
    log_keep: int = Field(7, ge=1, le=1000, description="how many of those are kept, as NAME.1 to NAME.n")


class ClusterConfig(Section):
    """Other machines that read and answer documents."""

    scheduler: Annotated[str, StringConstraints(pattern=CLUSTER_ADDRESS)] = Field(
        description="the address at which workers are listed, as tls://head.example:8786"
    )
    credential: Annotated[Text, AfterValidator(inside)] = Field(
        "keys/cluster/head.pem", description="the file with the private key and certificates of the head"
    )


class ProxyConfig(Section):
    """A proxy in front of the console that knows who somebody is."""

    header: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,63}$")] = Field(
        description="the header in which the proxy names the person; it has to take it away from what browsers send"
    )
    address: Text = Field(
        alias="from", description="the only address that the proxy speaks from, such as 127.0.0.1; or `socket`"
    )


class ConsoleConfig(Section):
    """The page in the browser (`cloister console`)."""

    port: int = Field(8417, ge=1, le=65535, description="the port on 127.0.0.1")
    url: Annotated[str, StringConstraints(pattern=r"^https?://[^\s/]+$")] | None = Field(
        None, description="where people find it, if that is not 127.0.0.1: what invites link to"
    )
    hosts: Annotated[tuple[Text, ...], Items] = Field(
        (), description="names, with their port, by which browsers may call it beside 127.0.0.1 and localhost"
    )
    idle_minutes: float = Field(60.0, gt=0, le=1440, description="a session ends after so long without a request")
    session_hours: float = Field(12.0, gt=0, le=168, description="a session ends so long after signing in")
    proxy: ProxyConfig | None = Field(None, description="who somebody is, is said by a proxy, and not by passphrases")
    people: dict[Text, Annotated[tuple[RoleName, ...], Items]] = Field(
        default_factory=dict, description="the roles of those whom the proxy names"
    )

    def address(self) -> str:
        """Where people find the console."""
        return self.url or f"http://127.0.0.1:{self.port}"


class SiteConfig(Section):
    """A workspace of Cloister."""

    log: LogConfig = Field(description="the audit log")
    models: ModelsConfig = Field(ModelsConfig(), description="which models and heads jobs may use")  # type: ignore[call-arg]
    limits: LimitsConfig = Field(LimitsConfig(), description="limits for all jobs")  # type: ignore[call-arg]
    encryption: EncryptionConfig | None = Field(
        None, description="encryption of what is kept of documents: their bytes, texts and results; none if left out"
    )
    console: ConsoleConfig = Field(ConsoleConfig(), description="the page in the browser")  # type: ignore[call-arg]
    service: ServiceConfig = Field(ServiceConfig(), description="the service")  # type: ignore[call-arg]
    cluster: ClusterConfig | None = Field(
        None, description="other machines that read and answer the documents of all jobs; none if left out"
    )
    notify: SiteNotifyConfig | None = Field(
        None, description="a command that is called when a run has ended, of whatever job, or the log needs a person"
    )
    metrics: Annotated[Text, AfterValidator(_collected)] | None = Field(
        None,
        description="a file, absolute or below the workspace, into which each run writes figures for the textfile "
        "collector of Prometheus' node exporter; none if left out",
    )
