"""`cloister bundle rollback`: the version before is the current one again."""

from jobs.bundle.versions import roll_back
from jobs.cli.bundled import PrefixOption, find_root, refusals
from jobs.cli.options import JsonOption
from jobs.cli.output import print_json, say


def rollback(prefix: PrefixOption = None, as_json: JsonOption = False) -> None:
    """Go back to the version before, which is still installed; a second time goes forward again.

    Workspaces are never touched, and nothing is removed. It starts that version once before it changes anything.
    """
    root = find_root(prefix)
    with refusals(root, as_json):
        current, before = roll_back(root)
    if as_json:
        print_json({"id": current, "before": before, "prefix": root})
        return
    say(f"Went back to {current}; {before} is kept")
    say("Next: start the service anew, if there is one.")
