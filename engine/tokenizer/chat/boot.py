"""The script of the process that renders chat templates: `python -P -s boot.py`.

`import engine` would load numpy and more, which rendering does not need: so the names of both packages are given to
empty ones with the same folders, and only what rendering needs is imported through them.
"""

import sys
import types
from pathlib import Path


def main() -> None:
    """Render what is asked for on stdin, until that ends."""
    place = Path(__file__).resolve().parents[1]
    for name, folder in (("engine", place.parent), ("engine.tokenizer", place)):
        package = types.ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    from engine.tokenizer.chat.child import serve

    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
