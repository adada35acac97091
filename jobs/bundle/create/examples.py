"""Example jobs of a source, and for some of them a few documents, so that the first result needs nothing else."""

import json
import posixpath
import re
import unicodedata
from typing import Any, Final

from jobs.bundle.create.source import Source
from jobs.bundle.manifest import Content

_CONFIGS: Final = "configs"
_DOCUMENTS: Final = "tests/corpus/demo"
_EXPECTED: Final = f"{_DOCUMENTS}/expected.json"
_MOST = 8  # documents of a job
_LETTERS: Final = str.maketrans({"ß": "ss", "\u0131": "i", "ø": "o", "æ": "ae", "ł": "l"})


def make_examples(source: Source) -> list[Content]:
    """jobs/NAME.yaml for each example, and jobs/documents/NAME/ with documents of which something is found."""
    jobs = [name for name in source.below(_CONFIGS, ".yaml") if name.count("/") == 1]
    contents = [Content(f"jobs/{posixpath.basename(name)}", "job", source.read(name)) for name in jobs]
    known = {posixpath.basename(name).removesuffix(".yaml") for name in jobs}
    for job, documents in sorted(_expected(source).items()):
        if job in known:
            done = sorted(name for name, told in documents.items() if told.get("state") == "done")
            there = [name for name in done if f"{_DOCUMENTS}/{job}/{name}" in source.files]
            for name in there[:_MOST]:
                path = f"jobs/documents/{job}/{_plain(posixpath.basename(name))}"
                contents.append(Content(path, "document", source.read(f"{_DOCUMENTS}/{job}/{name}")))
    return contents


def _expected(source: Source) -> dict[str, dict[str, Any]]:
    if _EXPECTED not in source.files:
        return {}
    found: dict[str, dict[str, Any]] = json.loads(source.read(_EXPECTED))
    return found


def _plain(name: str) -> str:
    """A name of the characters that a bundle allows."""
    bare = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    ascii_ = "".join(sign for sign in bare if not unicodedata.combining(sign))
    return re.sub(r"-+(?=\.)", "", re.sub(r"-*[^A-Za-z0-9._-]+-*", "-", ascii_)).strip("-.")
