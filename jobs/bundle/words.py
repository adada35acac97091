"""What is said of a bundle, in plain words.

This file is joined into verify.py and install.py; nothing here is newer than Python 3.6.
"""

from pathlib import Path

from jobs.bundle.reader import Bundle

EXAMPLE = "correspondence-triage"  # the job that is named to whoever has installed Cloister for the first time


def describe(bundle: Bundle) -> list[str]:
    """Describe a bundle that was checked, in lines for a person."""
    told, carried = bundle.told, [each for each in bundle.files if each.at is not None]
    platform = f"{told['platform']['system']} {told['platform']['machine']}"
    platform += f", glibc {told['platform']['glibc']} or newer" if told["platform"]["glibc"] else ""
    lines = [
        f"bundle    cloister {told['version']}, {told['kind']}, for {platform}, Python {', '.join(told['pythons'])}",
        f"signed    by {bundle.signed_by}",
        f"manifest  sha256 {bundle.digest}",
        f"files     {len(carried)}, {sum(each.size for each in carried):,} bytes: each has its sha256, and nothing else"
        " is in the archive",
        f"expires   {told['expires'] or 'never'}",
    ]
    missing = len(bundle.files) - len(carried)
    if told["kind"] == "update":
        lines.append(f"needs     {missing} files of the installed version whose manifest has the sha256 {told['base']}")
    return lines


def describe_files(bundle: Bundle) -> list[str]:
    """A line for each file of the version: its role, sha256, size and path."""
    return [
        f"{each.role:<8} {each.sha256} {each.size:>13,} {each.path}{'' if each.at is not None else '  (not carried)'}"
        for each in bundle.files
    ]


def next_commands(root: Path, version: str, before: str | None, new: bool) -> list[str]:
    """Tell a person what an install did, and what to type next. `new`: the version was not there before."""
    command = root / "bin/cloister"
    if before == version:
        return [f"Installed {version} again" if new else f"{version} was the current version already"]
    if before is not None:
        return [
            f"Installed {version}; the version before, {before}, is kept",
            "Next: start the service anew, if there is one. What runs now goes on with the version before.",
            f"Is everything in order? {command} doctor",
            f"If something is wrong: {command} bundle rollback",
        ]
    return [
        f"Installed {version} in {root}",
        f"Is this machine as it has to be? {command} doctor",
        "Next:",
        f"  {command} init office --example {EXAMPLE}",
        f"  {command} run {EXAMPLE} --workspace office",
        f"  {command} audit verify --workspace office",
    ]


def say(text: str) -> None:
    """Print plain characters alone, which no terminal obeys or hides."""
    print(ascii(text)[1:-1], flush=True)
