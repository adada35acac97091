"""The surface of a package: a name is imported when it is first asked for, so that nobody waits for the others."""

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any


def surface(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that offers what its file imports for the type checker (PEP 562)."""
    tree = ast.parse(Path(file).read_text())
    imports = (node for branch in tree.body if isinstance(branch, ast.If) for node in branch.body)
    homes = {name.name: node.module for node in imports if isinstance(node, ast.ImportFrom) for name in node.names}

    def offered(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # The attribute is set after the import, which names the module pipeline.run as the function in it is named.
        found = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, found)
        return found

    return offered, lambda: sorted(homes)
