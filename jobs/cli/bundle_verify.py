"""`cloister bundle verify`: is a bundle whole, and signed by the trusted key? What verify.py beside it says, too."""

from datetime import date
from typing import Annotated

import typer

from jobs.bundle.install import trusted_key
from jobs.bundle.reader import Bundle, describe, describe_files, read_bundle
from jobs.cli.bundled import BundleArgument, find_root, refusals
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say
from jobs.errors import ConfigError, Problem


def verify(
    bundle: BundleArgument,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="The trusted public key, or its file; else the installation's."),
    ] = None,
    files: Annotated[bool, typer.Option("--list", help="Say what is in the bundle, file by file.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a bundle: its signature, each byte, and that nothing else is in it.

    Writes nothing. Exit 4 if the bundle cannot be trusted.
    """
    with refusals(bundle, as_json):
        try:
            found = read_bundle(bundle, trusted_key(find_root(None), key), str(date.today()))
        except OSError as error:
            raise ConfigError(Problem(str(bundle), f"cannot be read: {error.strerror}")) from error
    if as_json:
        print_json(_told(found, files))
        return
    for line in describe(found) + (describe_files(found) if files else []):
        say(line)
    say("WHOLE")


def _told(bundle: Bundle, files: bool) -> dict[str, object]:
    told = {name: value for name, value in bundle.told.items() if files or name != "files"}
    return {"ok": True, "id": bundle.id, "manifest_sha256": bundle.digest, "signed_by": bundle.signed_by, **told}
