"""`summarizing`: the sentences that people would say are found in reports that were not seen, with the same bits."""

from pathlib import Path

from pipeline.heads import read_head, write_head
from pipeline.tasks.summarize.head import SentencesHead
from tests.engine.isas import said_everywhere
from tests.pipeline.tasks.summarize.made_reports import head, learned, report, taught


def test_what_was_decided_is_said_of_reports_that_were_not_seen() -> None:
    its = head()
    for number in range(100, 120):
        one = taught(number)
        scores = its.scores(one.document, one.sentences, one.vectors)
        best = one.sentences[scores.index(max(scores))]
        assert report(number)[0][best.start : best.end].startswith("It was decided")
        assert all(0 <= score <= 1 for score in scores)


def test_what_is_measured_lies_between_the_first_and_the_best_sentence() -> None:
    _, found = learned()
    assert 0 < found.rouge_l_of_first < found.rouge_l <= found.rouge_l_of_best
    assert found.rouge_l > 0.95 * found.rouge_l_of_best


def test_a_head_says_the_same_from_its_file(tmp_path: Path) -> None:
    its, one, path = head(), taught(7), tmp_path / "a.head"
    write_head(path, its.to_file())
    again = SentencesHead.from_file(read_head(path))
    assert again.scores(one.document, one.sentences, one.vectors) == its.scores(
        one.document, one.sentences, one.vectors
    )
    assert again.to_file().to_bytes() == path.read_bytes()


def test_the_same_bits_on_every_instruction_set_and_with_any_threads() -> None:
    assert len(said_everywhere("-m", "tests.pipeline.tasks.summarize.made_reports")) == 1
