"""Options of the commands about clusters."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jobs.config.cluster import ADDRESS_MEANS

AddressArgument = Annotated[
    str, typer.Argument(metavar="ADDRESS", help=f"The address of the scheduler, {ADDRESS_MEANS}.")
]
CredentialOption = Annotated[
    Path, typer.Option("--credential", metavar="FILE", help="The private key and certificates that speak for it.")
]
HostOption = Annotated[
    str,
    typer.Option(
        "--host", metavar="ADDRESS", help="The address of this machine at which others find it; else none does."
    ),
]
PortOption = Annotated[int, typer.Option("--port", min=0, max=65535, metavar="N", help="The port; 0 picks one.")]
ClusterOption: Any = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Have the workers at this scheduler read and answer; else those that site.yaml names, if any.",
        show_default=False,
    ),
]
