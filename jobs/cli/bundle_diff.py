"""`cloister bundle diff`: makes an update that carries only what changed."""

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from jobs.bundle.publish import MIB, difference, open_key
from jobs.cli.bundle_create import KeyOption, OutOption, PassphraseOption, say_published, to_json
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say
from jobs.config.workspace import CREDENTIAL, credential
from jobs.progress import telling


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="The bundle that is installed there.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The bundle that is to be; --key signed it.")],
    out: OutOption,
    key: KeyOption,
    passphrase_file: PassphraseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make an update from one bundle to another, which carries only files that the old one has not.

    It installs where the old version is installed, and nowhere else. What is installed then is the new bundle, file by
    file.
    """
    opened = open_key(key, passphrase_file or credential(CREDENTIAL))
    with telling("making the update") as progress:
        made = difference(old, new, out, opened, str(date.today()), progress)
    if as_json:
        whole = {"old_version": made.old_version, "whole_size": made.whole}
        print_json(to_json(made.published) | whole)
        return
    say_published(made.published)
    share, after = 100 * made.published.size / max(made.whole, 1), made.published.manifest.version
    say(f"It updates {made.old_version} to {after}, with {share:.1f} % of {made.whole / MIB:,.1f} MiB")
