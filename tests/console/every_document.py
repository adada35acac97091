"""Every page of every one of 1,000 hostile documents, held against the rules of test_hostile, which looks at some.

    python -m tests.console.every_document [--documents N]

Each document is opened as a page and as its text, by somebody with all roles. Printed are how many pages were looked
at, and what none of them may have. A part of `make torture`.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import engine
import pipeline
from tests.console.browser.workspaces import make_hostile
from tests.console.browsing import Browser, open_house
from tests.console.test_hostile import wrong
from tests.models import write_bert_folder


def look(root: Path) -> tuple[int, int, list[str]]:
    """How many documents and how many pages of them were looked at, and what was wrong."""
    house, found, pages = open_house(root), list[str](), 0
    ann = Browser(house, "ann")
    with pipeline.index.open_index(house.site) as queue:
        queue.refresh()
        entries = queue.entries(pipeline.index.Filter(current=False))
    for number, entry in enumerate(entries, 1):
        for path in (f"/documents/{entry}", f"/documents/{entry}?view=text"):
            answer = ann.get(path)
            pages += 1
            found += [f"{path}: {answer.status}"] if answer.status != 200 else []
            found += (f"{path}: {each}" for each in wrong(answer.text, scripts=True))
        if number % 100 == 0:
            print(f"{number:,} of {len(entries):,} documents, {len(found)} things wrong", file=sys.stderr, flush=True)
    house.drawer.close()
    return len(entries), pages, found


def main() -> None:
    """The command; it ends with 1 if anything was wrong."""
    told = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    told.add_argument("--documents", type=int, default=1_000)
    asked = told.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "tiny.gguf"
        engine.import_model(write_bert_folder(Path(folder) / "hf"), model, file_type="q8_0", name="tiny")
        make_hostile(Path(folder) / "ws", model, asked.documents)
        documents, pages, found = look(Path(folder) / "ws")
    print(f"{pages:,} pages of {documents:,} documents: {len(found)} things wrong")
    print("\n".join(found[:50]))
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
