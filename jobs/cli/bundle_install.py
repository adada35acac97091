"""`cloister bundle install`: a new version beside the installed ones, which becomes the current one at the end."""

from datetime import date
from typing import Annotated

import typer

from jobs.bundle.install import install as install_bundle
from jobs.bundle.reader import next_commands
from jobs.bundle.versions import this_machine
from jobs.cli.bundled import BundleArgument, PrefixOption, find_root, refusals
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say
from jobs.progress import saying


def install(
    bundle: BundleArgument,
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="KEY", help="The trusted public key, or a file with it; an installation remembers its own."
        ),
    ] = None,
    prefix: PrefixOption = None,
    older: Annotated[
        bool, typer.Option("--older", help="Also if it is older than the current version, which is refused else.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Install a bundle: check all of it, install it beside what is there, and make it the current version at the end.

    An install that fails or is interrupted leaves the version that runs as it is. Workspaces are never touched. On a
    machine that has no Cloister yet, install.py beside the bundle does the same.
    """
    root = find_root(prefix)
    with refusals(bundle, as_json), saying() as progress:
        step = progress or (lambda text: None)
        done = install_bundle(bundle, root, key, str(date.today()), this_machine(), step, older)
    if as_json:
        told = {"id": done.id, "version": done.version, "before": done.before, "new": done.new}
        print_json({**told, "prefix": root})
        return
    for line in next_commands(root, done.id, done.before, done.new):
        say(line)
