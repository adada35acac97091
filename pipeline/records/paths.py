"""Where the input of an entry came from."""

import base64
import os
from collections.abc import Mapping
from typing import Any


def raw_path(entry: Mapping[str, Any]) -> str:
    """The path of an entry's input as the system knows it."""
    return os.fsdecode(base64.b64decode(entry["path_bytes"])) if entry["path_bytes"] else str(entry["path"])
