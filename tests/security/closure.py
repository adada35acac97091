"""The distributions that are installed with Cloister for what it does at night, and what in them could reach others."""

import ast
import re
import struct
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

SPEAKERS = (
    *("http.client", "urllib.request", "xmlrpc.client", "webbrowser", "ftplib", "imaplib", "nntplib", "poplib"),
    *("smtplib", "telnetlib", "requests", "urllib3", "httpx", "httpcore", "aiohttp", "pycurl", "boto3", "botocore"),
    *("grpc", "tornado", "websockets", "zmq", "socket", "ssl"),
)
"""Modules by which Python code reaches others, or could."""
SYMBOLS = frozenset({"connect", "sendto", "sendmsg", "sendmmsg", "getaddrinfo", "gethostbyname", "gethostbyname_r"})
"""Functions of libc by which native code reaches others, or could."""
_TOPS = "|".join(sorted({name.split(".")[0] for name in SPEAKERS}))
_IMPORTS = re.compile(rf"^\s*(?:import|from)\b.*?\b(?:{_TOPS})\b", re.MULTILINE)


def closure(name: str = "cloister") -> dict[str, Distribution]:
    """The distribution and all that it requires here, without extras, by their normal names."""
    found: dict[str, Distribution] = {}
    ahead = [name]
    while ahead:
        asked = normal(ahead.pop())
        if asked in found:
            continue
        found[asked] = distribution(asked)
        required = [Requirement(each) for each in found[asked].requires or ()]
        ahead += [each.name for each in required if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def normal(name: str) -> str:
    """The name of a distribution as indexes compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def files(of: Distribution) -> Iterator[tuple[str, Path]]:
    """The files of a distribution, by their paths below where it is installed; what it brings for its own tests is
    imported by nobody."""
    for each in of.files or ():
        name = str(each)
        if "tests" not in each.parts and not name.startswith("..") and (path := Path(str(each.locate()))).is_file():
            yield name, path


def speakers(path: Path) -> set[str]:
    """The modules of SPEAKERS that a Python file imports, wherever in it."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if not _IMPORTS.search(text):
        return set()
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in SPEAKERS if any(each == name or each.startswith(f"{name}.") for each in found)}


def symbols(path: Path) -> set[str]:
    """The functions of SYMBOLS that a shared library takes from others (ELF, 64 bits, lower half first): the undefined
    symbols of .dynsym."""
    with path.open("rb") as file:
        head = file.read(64)
        if head[:6] != b"\x7fELF\x02\x01":
            return set()
        (at,) = struct.unpack_from("<Q", head, 40)
        size, count = struct.unpack_from("<HH", head, 58)
        file.seek(at)
        sections = [struct.unpack("<IIQQQQIIQQ", file.read(size)) for _ in range(count)]
        found: set[str] = set()
        for _, kind, _, _, start, length, link, _, _, _ in sections:
            if kind == 11:  # SHT_DYNSYM
                file.seek(sections[link][4])
                names = file.read(sections[link][5])
                file.seek(start)
                for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", file.read(length)):
                    if section == 0:
                        found.add(names[name : names.index(b"\0", name)].decode("ascii", "replace"))
        return found & SYMBOLS
