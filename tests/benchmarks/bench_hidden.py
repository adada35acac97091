"""What of hidden text reaches the model unseen by a person, and what of shown text is lost: a Markdown table over all
techniques.

python -m tests.benchmarks.bench_hidden     the table, then each technique that fails, by name
The techniques: tests/hidden/.
"""

import tempfile
from collections.abc import Iterator

from pipeline.errors import DocumentError
from pipeline.parse import Limits, ParserPool
from tests.hidden import FAMILIES
from tests.hidden.base import Technique


def main() -> None:
    """Parse all with `hidden: drop`, print the table."""
    failed: list[str] = []
    print("| format | techniques | controls | hidden words that reached the model | shown words lost |")
    print("|---|---|---|---|---|")
    with ParserPool(2, Limits()) as pool:
        for family, build in FAMILIES.items():
            techniques = build()
            texts = [text_of(pool, one) for one in techniques]
            print(row(family, list(zip(techniques, texts, strict=True))))
            failed += failures(family, techniques, texts)
    print("\n".join(["", *failed]) if failed else "")


def text_of(pool: ParserPool, technique: Technique) -> tuple[str, bool]:
    """What the model would read, nothing of a document that fails; and whether a person looks at it."""
    with tempfile.TemporaryFile() as file:
        file.write(technique.data)
        file.flush()
        try:
            parsed = pool.parse(file.fileno(), technique.file_name)
            return parsed.text, bool(parsed.unsure)
        except DocumentError:
            return "", True


def row(family: str, parsed: list[tuple[Technique, tuple[str, bool]]]) -> str:
    """A line of the table."""
    hiding = [one for one, _ in parsed if one.hidden]
    hidden, shown = sum(len(one.hidden) for one in hiding), sum(len(one.shown) for one, _ in parsed)
    reached = sum(len(one.reached(text)) for one, (text, told) in parsed if not told)
    lost = sum(len(one.lost(text)) for one, (text, _) in parsed)
    return f"| {family} | {len(hiding)} | {len(parsed) - len(hiding)} | {reached} of {hidden} | {lost} of {shown} |"


def failures(family: str, techniques: list[Technique], texts: list[tuple[str, bool]]) -> Iterator[str]:
    """Each technique that fails, with the words that tell."""
    for one, (text, told) in zip(techniques, texts, strict=True):
        if (reached := one.reached(text)) and not told:
            yield f"{family}, {one.name}: reached {reached}"
        if lost := one.lost(text):
            yield f"{family}, {one.name}: lost {lost}"


if __name__ == "__main__":
    main()
