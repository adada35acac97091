"""verify.py and install.py, as they lie beside a bundle: each is one file that needs Python's standard library alone.

They are joined from files of this package, so that the commands and the programs have the same code; the check of a
signature comes from the one-file verifier of the log (`audit.VERIFIER`). Annotations become strings, which an old
Python does not evaluate: it can then say itself that it is too old.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import audit

PROGRAMS: Final = {
    "verify.py": ("reader", "words", "verify"),
    "install.py": ("reader", "words", "machine", "versions", "install"),
}
_START = """\
#!/usr/bin/env python3
# fmt: off
{docstring}
import sys

if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]  # nothing that lies beside this file is imported, whoever put it there

{imports}


"""
_END = """

if __name__ == "__main__":
    raise SystemExit(main())
"""
_OURS = ("audit", "jobs")


def program(name: str) -> str:
    """The text of one of PROGRAMS, which the same version always writes alike."""
    texts = [Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8") for module in PROGRAMS[name]]
    bodies = [_quote_annotations(_body(text)) for text in texts]
    borrowed = sorted({found for body in bodies for found in re.findall(r"\bstandalone\.(\w+)", body)})
    checks = _quote_annotations("\n\n\n".join(_definitions(audit.VERIFIER.read_text(encoding="utf-8"), borrowed)))
    imports = sorted({line for text in texts for line in _imports(text)} | {"import re", "import hashlib"})
    docstring = ast.get_docstring(ast.parse(texts[-1]), clean=False)
    start = _START.format(docstring=f'"""{docstring}"""', imports="\n".join(imports))
    return start + "\n\n\n".join([checks, *(body.replace("standalone.", "") for body in bodies)]) + _END


def _segment(lines: list[str], node: ast.stmt) -> str:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    return "\n".join(lines[first - 1 : node.end_lineno])


def _imports(text: str) -> Iterator[str]:
    """The imports of the standard library."""
    for node in ast.parse(text).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            module = node.names[0].name if isinstance(node, ast.Import) else str(node.module)
            if module.split(".")[0] not in _OURS:
                yield ast.unparse(node)


def _body(text: str) -> str:
    """The text of a module behind its docstring and its imports."""
    last = [node for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))][-1]
    return "\n".join(text.splitlines()[last.end_lineno :]).strip("\n")


def _definitions(text: str, names: list[str]) -> Iterator[str]:
    """The statements of a file that define these names, and those that they need, in the order of the file."""
    lines, tree = text.splitlines(), ast.parse(text)
    defined = {name: node for node in tree.body for name in _defines(node)}
    needed, asked = set[ast.stmt](), list(names)
    while asked:
        node = defined.get(asked.pop())
        if node is not None and node not in needed:
            needed.add(node)
            asked += [each.id for each in ast.walk(node) if isinstance(each, ast.Name)]
    yield from (_segment(lines, node) for node in tree.body if node in needed)


def _defines(node: ast.stmt) -> list[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]


def _quote_annotations(text: str) -> str:
    """The same text, in which annotations are strings."""
    lines = [line.encode() for line in text.splitlines()]
    for node in sorted(_annotations(ast.parse(text)), key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line, end = lines[node.lineno - 1], node.end_col_offset
        inner = line[node.col_offset : end]
        lines[node.lineno - 1] = line[: node.col_offset] + b'"' + inner + b'"' + line[end:]
    return b"\n".join(lines).decode()


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            found = getattr(node, name, None)
            if isinstance(found, ast.expr) and not isinstance(found, (ast.Name, ast.Constant)):
                yield found
