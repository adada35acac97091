"""Who may import whom: the table of DESIGN, section 2, in a form that fails."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent

# package -> the packages of ours it may import
ARROW = {"engine": set(), "audit": set(), "pipeline": {"engine", "audit"}, "jobs": {"pipeline", "audit"}}
# third-party package -> the files (path prefixes) that may import it; nothing else may be imported
ALLOWED = {
    "numpy": ("engine/", "pipeline/"),
    "numba": ("engine/",),
    "llvmlite": ("engine/tiles/", "engine/simd/"),
    "llguidance": ("engine/generate/constraint/grammar.py",),
    "regex": ("engine/tokenizer/", "pipeline/text/values/"),
    "cryptography": (
        "audit/sign.py",
        "pipeline/atrest/ciphers.py",
        "pipeline/cluster/authority.py",
        "pipeline/cluster/peers.py",
    ),
    "dask": ("pipeline/cluster/quiet.py",),
    "distributed": ("pipeline/cluster/",),
    "structlog": ("jobs/", "pipeline/"),
    "pyarrow": (
        "pipeline/outbox/schema.py",
        "pipeline/outbox/parts.py",
        "pipeline/outbox/commit.py",
        "pipeline/outbox/results.py",
        "pipeline/proof/export/mirror.py",
        "pipeline/outbox/tables/parquet.py",
        "pipeline/index/answers.py",
        "pipeline/tasks/",
        "pipeline/cluster/wire.py",
    ),
    "jinja2": ("engine/tokenizer/chat/sandbox.py", "jobs/console/render.py", "pipeline/pages/template.py"),
    "pydantic": (
        "jobs/config/job.py",
        "jobs/config/site.py",
        "jobs/config/asked.py",
        "jobs/config/when.py",
        "jobs/config/section.py",
    ),
    "ruamel": ("jobs/config/source.py",),
    "apscheduler": ("jobs/nights/ledger.py",),
    "watchfiles": ("jobs/nights/wake.py",),
    "xlsxwriter": ("pipeline/outbox/tables/xlsx.py",),
    "segno": ("jobs/cli/audit_keep.py",),
    "starlette": ("jobs/console/",),
    "anyio": ("jobs/console/app.py",),
    "uvicorn": ("jobs/console/serving.py",),
    "h11": ("jobs/console/serving.py",),
    "typer": ("jobs/cli/",),
    "markdown_it": ("jobs/bundle/create/pages.py", "pipeline/parse/formats/md.py"),
    "packaging": ("jobs/bundle/create/wheels.py", "jobs/trust/system.py"),
    "rich": ("jobs/",),
}
# what the format libraries are, each in one file below pipeline/parse/
FORMAT_LIBRARIES = {
    "pypdfium2",
    "python_calamine",
    "lxml",
    "PIL",
    "charset_normalizer",
    "puremagic",
    "tinycss2",
}
NETWORK = {"socket", "http", "urllib.request", "ftplib", "smtplib", "ssl", "xmlrpc", "socketserver", "asyncio"}
# pipeline/: its rooms and the files of its hall, each of which may import those that stand before it
ROOMS = (
    *("surface", "errors", "states", "document", "kernel"),
    *("paths", "atrest", "text", "pages", "openai", "parse", "heads", "tasks", "plan", "version", "records"),
    *("report", "forecast", "inbox", "answer", "learn", "quality", "outbox", "index", "reports", "keep", "proof"),
    "backup",
    *("review", "rerun", "view"),
    *("control", "bench", "cluster", "stages", "run"),
)
# rooms and files within a room, each of which may import those that stand before it in its folder
INNER_ROOMS = {
    "engine": (
        *("errors", "cpu", "compiling", "machine", "gguf", "simd", "quant", "tiles", "kernels", "heads", "tokenizer"),
        *("widened", "description", "models", "generate", "convert"),
        *("batches", "quantize", "engine", "loading", "bench", "__main__"),
    ),
    "engine.kernels": ("functions", "text", "choice", "rows", "rope", "vectors", "matmul", "attention"),
    "jobs": (
        *("silence", "stop", "errors", "visible", "config", "record", "progress", "nights", "console"),
        *("bundle", "trust", "cli"),
    ),
    "engine.generate": (
        *("constraint", "request", "pages", "endings", "guess", "kv", "jobs", "outcome", "scheduler"),
        *("batch", "model", "load"),
    ),
    "pipeline.parse": (
        *("limits", "options", "members", "sight", "writer", "encoding", "pictures", "contract", "markup", "css"),
        *("unpack", "mail", "office", "pdf", "formats", "sniff", "view", "sandbox", "child", "ocr", "pool"),
    ),
    "pipeline.parse.office": (
        *(
            "rtf_looks",
            "cells",
            "numerals",
            "word_2003",
            "sheets_2003",
            "flat",
            "package",
            "binary",
            "embedded",
        ),
        *("drawing", "word", "sheets", "odf", "rtf_state"),
    ),
    "pipeline.parse.pdf": (
        *("runs", "binding", "geometry", "objects", "layers", "attachments", "outline", "text", "drawn"),
        "pages",
    ),
}
# folders that hold a family: one file a member; audit/ is one thing
FAMILIES = {"pipeline/parse/formats", "jobs/cli", "audit"}
FILES = [path for package in sorted(ARROW) for path in sorted((ROOT / package).rglob("*.py"))]


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: say from which package"
            assert node.module
            yield node.module


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _not_allowed(name: str, module: str) -> str | None:
    """Why a file may not import a module; None where it may."""
    package, top = name.split("/")[0], module.split(".")[0]
    if top in ARROW:
        if top != package and top not in ARROW[package]:
            return f"{name} may not import {module}"
        return None if top == package or module == top else f"{name}: import {top}, not {module}"
    if top in FORMAT_LIBRARIES:
        return None if name.startswith("pipeline/parse/") else f"{name} may not import {module}"
    known = top in sys.stdlib_module_names or name.startswith(ALLOWED.get(top, ()))
    return None if known else f"{name} may not import {module}"


def test_imports() -> None:
    pairs = ((relative(path), module) for path in FILES for module in imports(path))
    assert [why for name, module in pairs if (why := _not_allowed(name, module))] == []


def test_files_are_short() -> None:
    assert [relative(path) for path in FILES if len(path.read_text().splitlines()) > 400] == []


def test_each_format_library_has_one_home() -> None:
    homes: dict[str, set[str]] = {}
    for path in FILES:
        for module in imports(path):
            if (top := module.split(".")[0]) in FORMAT_LIBRARIES - {"lxml"}:  # XML is inside most formats
                homes.setdefault(top, set()).add(relative(path))
    assert {library: sorted(files) for library, files in homes.items() if len(files) > 1} == {}


def room(module: str) -> str:
    """The room of a module of pipeline/: "pipeline.inbox.feed" lies in "inbox"."""
    return module.split(".")[1]


def test_rooms_look_one_way() -> None:
    known = {name: path for name, path in modules().items() if name.startswith("pipeline.")}
    pairs = [(name, module) for name, path in known.items() for module in imports(path) if module.count(".")]
    inner = [(name, module) for name, module in pairs if module.startswith("pipeline.")]
    assert [pair for pair in inner if ROOMS.index(room(pair[1])) > ROOMS.index(room(pair[0]))] == []


def test_every_room_has_its_place() -> None:
    there = {
        path.stem for path in (ROOT / "pipeline").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert there - {"__init__"} == set(ROOMS)


@cache
def modules() -> dict[str, Path]:
    names = (path.relative_to(ROOT).with_suffix("").parts for path in FILES)
    return dict(zip((".".join(name).removesuffix(".__init__") for name in names), FILES, strict=True))


@cache
def imported(path: Path) -> set[str]:
    """The modules of ours that a file imports, also within functions; not what only the type checker reads."""
    tree, found, known = ast.parse(path.read_text()), set[str](), modules()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & known.keys()) | ({node.module} if inner - known.keys() else set())
    return found & known.keys()


def test_inner_rooms_look_one_way() -> None:
    known, wrong = modules(), list[str]()
    for folder, rooms in INNER_ROOMS.items():
        start = len(folder) + 1
        inner = {name: path for name, path in known.items() if name.startswith(f"{folder}.")}
        assert {name[start:].split(".")[0] for name in inner} == set(rooms)
        place = {name: rooms.index(name[start:].split(".")[0]) for name in inner}
        wrong += [
            f"{name} may not import {module}"
            for name, path in inner.items()
            for module in imported(path) & inner.keys()
            if place[module] > place[name]
        ]
    assert wrong == []


def test_no_circle_of_imports() -> None:
    known = modules()
    graph = {name: imported(path) - {name} for name, path in known.items()}
    while leaves := [name for name, needed in graph.items() if not needed & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert sorted(graph) == []


def test_no_folder_is_a_corridor() -> None:
    folders: dict[str, int] = {}
    for path in FILES:
        folders[relative(path.parent)] = folders.get(relative(path.parent), 0) + 1
    assert folders["pipeline"] <= 11
    assert {name: count for name, count in folders.items() if count > 20 and name not in FAMILIES} == {}


def test_configs_hold_no_python() -> None:
    assert list((ROOT / "configs").rglob("*.py")) == []


def test_nothing_connects_to_a_network() -> None:
    users = {relative(path) for path in FILES for module in imports(path) if module in NETWORK}
    # Children of the parser pool are spoken to over a socket pair, which has no address. The console listens.
    listens = {"jobs/console/serving.py", "jobs/console/guard.py"}
    tells = {"jobs/nights/systemd.py"}  # over a socket of this machine's own (AF_UNIX)
    # Calls on purpose under a tracer that lets none go on; and a network of its own, whose loopback is brought up.
    proves = {"jobs/trust/deliberate.py", "jobs/trust/isolated.py"}
    joins = {"jobs/nights/cluster.py"}  # what speaks to a cluster, if a site asks for one
    others = {name for name in users if not name.startswith(("pipeline/parse/", "pipeline/cluster/"))}
    assert others <= listens | tells | proves | joins
    assert "AF_INET" not in (ROOT / "jobs/nights/systemd.py").read_text()


def test_top_level_is_the_agreed_one() -> None:
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
    assert folders - {"demo", "build", "cloister.egg-info"} == {
        "audit",
        "configs",
        "engine",
        "jobs",
        "pipeline",
        "tests",
    }


def test_only_tasks_know_which_tasks_there_are() -> None:
    names = {"classify", "extract", "summarize", "ask", "batch"}
    kinds = {f"{name.title()}Settings" for name in names}

    def names_one(path: Path) -> bool:
        nodes = list(ast.walk(ast.parse(path.read_text())))
        told = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        return bool(names & told or kinds & {node.id for node in nodes if isinstance(node, ast.Name)})

    inner = (path for path in FILES if relative(path).startswith("pipeline/"))
    outside = (path for path in inner if not relative(path).startswith("pipeline/tasks/"))
    assert [relative(path) for path in outside if names_one(path)] == []
