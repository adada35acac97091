"""Which system calls locked processes make: pipeline/parse/sandbox/calls.py is made of what this prints.

    python -m tests.pipeline.parse.traced FOLDER

Parses every file below FOLDER, and reads one picture of text, with the server under `strace`; then prints each call
that was made after the filter was in force, by parsers and by Tesseract, how often, with the error if it had one.
"""

import os
import re
import stat
import sys
import tempfile
from collections import Counter
from pathlib import Path

from pipeline.errors import DocumentError
from pipeline.parse import Options, ParserPool, find_tesseract

_WRAPPER = '#!/bin/sh\nexec strace -f -qq --signal=none -s 0 -o "{trace}" "{python}" "$@"\n'
_LINE = re.compile(r"(?P<pid>\d+) +(?P<call>\w+)\((?P<rest>.*)")
_WITH_COMMAND = {"fcntl": 1, "ioctl": 1, "prctl": 0, "prlimit64": 1, "madvise": 2, "clone": 1}


def main(folder: str) -> None:
    """Trace, then print."""
    with tempfile.TemporaryDirectory() as place:
        trace, wrapper = Path(place, "trace"), Path(place, "python")
        wrapper.write_text(_WRAPPER.format(trace=trace, python=sys.executable))
        wrapper.chmod(stat.S_IRWXU)
        sys.executable = str(wrapper)
        _parse_all(Path(folder))
        for who, calls in _calls(trace).items():
            print(f"{who}:")
            for call, count in sorted(calls.items()):
                print(f"{count:9,} {call}")


def _parse_all(folder: Path) -> None:
    tesseract, ended, recognised = find_tesseract(()), Counter[str](), False
    with ParserPool(1) as pool:
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
            with path.open("rb") as file, tempfile.TemporaryFile() as out:
                try:
                    parsed = pool.parse(file.fileno(), path.name, Options(images=True), out.fileno())
                except DocumentError as error:
                    ended[error.failure.value] += 1
                    continue
                ended["parsed"] += 1
                if parsed.images and not recognised and not isinstance(tesseract, str):
                    _, notes = pool.reader(tesseract).read(out.fileno(), parsed.images[:1])
                    recognised = True
                    print(f"{path.name}: a page was recognised; {notes or 'without notes'}")
    print(", ".join(f"{count:,} {what}" for what, count in sorted(ended.items())))


def _calls(trace: Path) -> dict[str, Counter[str]]:
    """After the filter: of parsers' children, and of programs that they became."""
    locked, programs = set[str](), set[str]()
    calls: dict[str, Counter[str]] = {"children": Counter(), "programs": Counter()}
    for line in trace.read_text(errors="replace").splitlines():
        found = _LINE.match(line)
        if found is None:
            continue
        pid, call, rest = found.group("pid", "call", "rest")
        if pid in locked:
            calls["programs" if pid in programs else "children"][_told(call, rest)] += 1
            if call == "execve" and rest.endswith("= 0"):
                programs.add(pid)
        if call == "prctl" and "PR_SET_SECCOMP" in rest:
            locked.add(pid)
    return calls


def _told(call: str, rest: str) -> str:
    failed = re.search(r"= -1 (E\w+)", rest)
    at = _WITH_COMMAND.get(call)
    command = "" if at is None else " " + rest.split(",")[at].split(")")[0].strip()
    run = " PROT_EXEC" if call in ("mmap", "mprotect") and "PROT_EXEC" in rest else ""
    return call + command + run + (f" {failed[1]}" if failed else "")


if __name__ == "__main__":
    os.environ.pop("PYTHONPATH", None)
    main(sys.argv[1])
