"""`cloister bundle list`: the installed versions."""

from jobs.bundle.versions import CURRENT, PREVIOUS, complete_versions, told_errors, version_of
from jobs.cli.bundled import PrefixOption, find_root, refusals
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say


def list_(prefix: PrefixOption = None, as_json: JsonOption = False) -> None:
    """List the installed versions: the current one, the one before, and others, which `bundle remove` deletes."""
    root = find_root(prefix)
    with refusals(root, as_json), told_errors():
        current, previous, versions = version_of(root, CURRENT), version_of(root, PREVIOUS), complete_versions(root)
    if as_json:
        print_json({"prefix": root, "current": current, "previous": previous, "versions": versions})
        return
    if not versions:
        say(f"No version is installed in {root}")
    for version in versions:
        state = {current: "current", previous: "previous"}.get(version, f"unused: {root}/versions/{version}")
        say(f"{version}  {state}")
