"""The command `cloister`: one file for each group of commands, which commands.py names and app.py runs."""

import sys
from importlib import import_module

from jobs.silence.seal import silenced


def main() -> None:
    """The console script. Nothing else is loaded before the process is held away from networks.

    Called from `__main__`, the process is the command's own, and the kernel holds it, too; not where others, such as
    tests, run a command within their process.
    """
    own_process = sys._getframe(1).f_globals.get("__name__") == "__main__"
    with silenced(sys.argv[1:], own_process=own_process):
        import_module("jobs.cli.app").main()
