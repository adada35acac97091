"""The script that the fresh interpreter of the parser server runs: `python -P -s boot.py DESCRIPTOR`.

`import pipeline` would load the engine, numba and pyarrow, which a parser neither needs nor should have in its memory.
So the name is given to an empty package with the same folder, and only what parsing needs is imported through it.
"""

import os
import socket
import sys
import types
from pathlib import Path


def main() -> None:
    """Become the parser server at the other end of the socket whose descriptor is the first argument."""
    package = types.ModuleType("pipeline")
    package.__path__ = [str(Path(__file__).resolve().parents[2])]
    sys.modules["pipeline"] = package
    from pipeline.parse.child.channel import Channel
    from pipeline.parse.child.server import serve

    serve(Channel(socket.socket(fileno=int(sys.argv[1]))))
    os._exit(0)  # its parent waits for it, and taking down what is loaded would be most of that time


if __name__ == "__main__":
    main()
