"""How the parsers of documents are held, against what the site asks for (parse/README.md: what holds a parser)."""

from dataclasses import dataclass

from pipeline.errors import MachineRefusedError
from pipeline.parse import Limits, NotIsolatedError, ParserPool
from pipeline.parse.sandbox import OF_PROGRAM, lacking
from pipeline.parse.sandbox import REQUIRED as OF_CHILD
from pipeline.plan import BEST_EFFORT, REQUIRED, Site
from pipeline.records.types import Isolation

_NEEDS = {
    "system_call_filter": "seccomp filters (x86-64 or aarch64), and no profile around it that forbids them",
    "no_new_privileges": "Linux 3.5",
    "no_capabilities": "Linux 2.6.26, and no profile around it that forbids capset",
    "memory_limit": "no lower hard limit on address space around it (ulimit -Hv)",
    "dies_with_parent": "no profile around it that forbids prctl",
    "no_files": "Landlock (Linux 5.13)",
    "no_network": "user namespaces that are not forbidden, for a network namespace",
}
"""What a protection takes, for the operator."""


def open_parsers(site: Site, workers: int) -> ParserPool:
    """The pool of a run. MachineRefusedError where the site requires what this machine does not give."""
    try:
        return ParserPool(workers, site.limits, required=site.isolation == REQUIRED)
    except NotIsolatedError as error:
        needed = "".join(f"\n    {name}: needs {_NEEDS[name]}" for name in error.lacking)
        raise MachineRefusedError(
            "the parsers of documents cannot be isolated on this machine, so none is started and nothing is processed."
            f" Not in force:{needed}\n"
            "    remedy:   give it that (to a container, in its seccomp profile); or, where documents are trusted, "
            f"write isolation: {BEST_EFFORT} under limits: in site.yaml, which every run then says"
        ) from error


def isolation_of(site: Site, pool: ParserPool) -> Isolation:
    """The protections that hold the parsers of an open pool."""
    return Isolation(site.isolation, lacking(pool.isolation, tuple(pool.isolation)))


def unconfined(site: Site, pool: ParserPool) -> str | None:
    """Why no other program may read pictures here; None if one may."""
    missing = lacking(pool.isolation, OF_PROGRAM) if site.isolation == REQUIRED else ()
    if not missing:
        return None
    needed = ", ".join(_NEEDS[name] for name in missing)
    return f"Tesseract cannot be held here, which needs {needed} or limits: {{isolation: {BEST_EFFORT}}}"


@dataclass(frozen=True)
class Protection:
    """A restriction of the kernel on parsers. `for_parsers`: without it no document is read where the site requires
    isolation; `for_programs`: without it Tesseract is not started there. `needs` says what it takes."""

    name: str
    in_force: bool
    for_parsers: bool
    for_programs: bool
    needs: str


def protections_here(limits: Limits) -> list[Protection]:
    """The restrictions that hold a parser on this machine, each with whether it is in force. RuntimeError if no parser
    starts."""
    with ParserPool(1, limits, required=False) as pool:
        return [
            Protection(name, there, name in OF_CHILD, name in OF_PROGRAM, _NEEDS.get(name, "a kernel that allows it"))
            for name, there in pool.isolation.items()
        ]


def check_isolation(site: Site) -> None:
    """MachineRefusedError where a run would be refused."""
    open_parsers(site, 1).close()
