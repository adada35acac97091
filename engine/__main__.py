"""Make models ready: `python -m engine MODEL…` compiles the kernels that they need and keeps their weights as they are
executed, so that the next process that loads them waits for neither. What cannot be loaded is told by who loads it."""

import contextlib
import sys

import engine

for path in sys.argv[1:]:
    with contextlib.suppress(engine.EngineError):
        (engine.load_decoder if engine.head_of(path) == "text" else engine.load)(path)
