"""What was measured, a JSON line each as soon as it is known, so that a run that was stopped can go on.

The first line says of which machine, code and instruction set the others are.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Facts = dict[str, str | int]


class Journal:
    """The lines of a file; without a file nothing is kept."""

    def __init__(self, path: Path | None, facts: Facts, resume: bool = False) -> None:
        """A new file, or one that goes on. Raises ValueError if that one is of something else."""
        self._path, self._known = path, {}
        if path is None:
            return
        if resume and path.exists():
            first, *others = [json.loads(line) for line in path.read_text().splitlines()]
            if first != facts:
                raise ValueError(f"{path}: found measurements of {first}, expected {facts}")
            self._known = {tuple(key): value for key, value in others}
        else:
            path.write_text(json.dumps(facts) + "\n")

    def knows(self, *key: str | int) -> bool:
        """Whether this was measured before."""
        return key in self._known

    def once(self, key: tuple[str | int, ...], measure: Callable[[], Any]) -> Any:
        """What was measured, now or before; a crash (None) is tried again the next time."""
        if key not in self._known and (found := measure()) is not None:
            self._known[key] = found
            if self._path is not None:
                with self._path.open("a") as file:
                    file.write(json.dumps([list(key), found]) + "\n")
        return self._known.get(key)
