"""Checks a bundle of Cloister, before anything of it is used: with Python 3.8 or newer, and nothing else.

    python3 -I verify.py BUNDLE --key KEY [--list]

KEY is the public key that you trust, or a file with it; it came to you in another way than the bundle. --list says what
is in the bundle, file by file. Nothing is written. Exit code 0: whole, and signed by this key. 1: something is wrong,
and named. 2: not checked: the bundle cannot be read, or KEY is no public key.
"""

import argparse
from datetime import date
from pathlib import Path

from audit import standalone
from jobs.bundle.reader import describe, describe_files, find_key, read_bundle, say


def main() -> int:
    """The program; it returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", type=Path, metavar="BUNDLE")
    parser.add_argument("--key", required=True)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    try:
        key = find_key(options.key)
    except (OSError, standalone.WrongError) as error:
        found = f"{options.key}: {error.strerror}" if isinstance(error, OSError) else str(error)
        say(f"NOT CHECKED: --key: {found}")
        return 2
    try:
        bundle = read_bundle(options.bundle, key, str(date.today()))
    except OSError as error:
        say(f"NOT CHECKED: {options.bundle}: {error.strerror}")
        return 2
    except standalone.WrongError as error:
        say(f"WRONG     {options.bundle}: {error}")
        say("THIS BUNDLE CANNOT BE TRUSTED. Do not install it.")
        return 1
    for line in describe(bundle) + (describe_files(bundle) if options.list else []):
        say(line)
    say("WHOLE")
    return 0
