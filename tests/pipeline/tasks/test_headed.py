"""Labels, entities and answers over windows, with models that say what the test tells them to."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import engine
from pipeline.document import Parsed, Section
from pipeline.tasks import Answer, ClassifySettings, ExtractSettings, Field, Headed, TaskRefusedError
from pipeline.tasks.classify.answers import OwnLabels, together
from pipeline.tasks.extract.own import Entities, check_entities

FIVE = " ".join(f"Word{i} is here." for i in range(5))


@dataclass
class Told:
    """A model with a head: tokens are words and signs, with two around a text and one more between two."""

    head: str
    labels: tuple[str, ...] = ()
    context: int = 12
    says: Callable[[str], Any] = lambda text: None

    def count_tokens(self, texts: Sequence[str | tuple[str, str]]) -> list[int]:
        both = [text if isinstance(text, tuple) else (text,) for text in texts]
        return [1 + len(parts) + sum(len(re.findall(r"\w+|[^\w\s]", part)) for part in parts) for parts in both]

    def logits(self, texts: Sequence[Any]) -> Any:
        return np.array([self.says(text) for text in texts], np.float32)

    def scores(self, logits: Any) -> Any:
        shares = np.exp(logits.astype(float))
        return (shares / shares.sum(1, keepdims=True)).astype(np.float32)

    def tag(self, texts: Sequence[str]) -> Any:
        return [self._tagged(text) for text in texts]

    def _tagged(self, text: str) -> Any:
        spans = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
        rows = np.full((len(spans), len(self.labels)), 0.1, np.float32)
        for row, (start, end) in zip(rows, spans, strict=True):
            label, score = self.says(text[start:end])
            row[self.labels.index(label)] = score
        return np.array(spans, np.int32).reshape(-1, 2), rows

    def answer(self, question: str, texts: Sequence[str]) -> list[engine.Answer]:
        return [self.says(f"{question}|{text}") for text in texts]


def asked(task: Any, text: str, **more: Any) -> Answer:
    document = Parsed(text, "text/plain", "none", **more)
    spans = task.spans(document)
    assert "".join(text[span.start : span.end] for span in spans).replace(" ", "") == text.replace(" ", "")
    answer: Answer = task.answer(document, spans, task.read([text[span.start : span.end] for span in spans]))
    return answer


def test_the_engine_is_such_a_model() -> None:
    model: type[Headed] = engine.Model
    assert model


def test_logits_are_weighted_by_tokens() -> None:
    said = [(3, np.array([1, 0], np.float32)), (1, np.array([-1, 4], np.float32))]
    assert together(said).tolist() == [[0.5, 1.0]]
    odd = np.array([0.1, 1e30, -7.7], np.float32)
    assert (together([(7, odd)])[0] == odd).all()


def test_the_windows_that_speak_for_a_label_are_its_evidence() -> None:
    loud = {"Word1": 3.0, "Word3": 2.0, "Word4": 1.0}
    model = Told("sequence", ("a", "b"), 6, lambda text: [loud.get(text.split()[0], 0.0), 0.5])
    answer = asked(OwnLabels(model, 0.5), FIVE)
    assert answer.columns["label"] == "a"
    assert answer.columns["score"] == pytest.approx(1 / (1 + np.exp(0.5 - 1.2)), abs=1e-5)
    assert [place.text.split()[0] for place in answer.evidence] == ["Word1", "Word3", "Word4"]
    sections = (Section(0, 1, "heading", "One"), Section(17, 1, "heading", "Two"))
    assert asked(OwnLabels(Told("sequence", ("a", "b"), 99, model.says), 0.0), FIVE, sections=sections).evidence
    abstained = asked(OwnLabels(model, 0.9), FIVE)
    assert (abstained.abstained, abstained.columns["label"]) == (True, None)
    assert abstained.reason == "the best label, a, scored 0.668, less than 0.9"
    assert asked(OwnLabels(model, 0.9), " ").reason == "no text"


NAMES = {"Ada": ("B-PER", 0.9), "Bly": ("I-PER", 0.5), "Cy": ("B-PER", 0.8), "ada": ("B-PER", 0.95)}


def tagger(**more: tuple[str, float]) -> Told:
    said = NAMES | more
    return Told("tokens", ("O", "B-PER", "I-PER", "B-ORG"), 12, lambda word: said.get(word, ("O", 0.7)))


def test_every_different_entity_is_a_field() -> None:
    answer = asked(Entities(tagger()), "Ada Bly met Cy. Cy left. Then came ada bly. Cy met Ada Bly.")
    rows = [(row["name"], row["value"], row["score"], row["note"]) for row in answer.columns["fields"]]
    assert rows == [
        ("PER", "Ada Bly", 0.7, "at 2 places, of which this is the surest"),
        ("PER", "Cy", 0.8, "at 3 places, of which this is the surest"),
        ("PER", "ada", 0.95, None),
        ("ORG", None, None, "the model finds none"),
    ]
    assert [place.start for place in answer.evidence] == [0, 12, 35]
    assert asked(Entities(tagger()), "nothing").abstained


def test_a_field_has_the_surest_entity_of_its_type() -> None:
    fields = (Field("who", entity="PER"), Field("n", "number", entity="ORG"), Field("day", "date", entity="PER"))
    settings = ExtractSettings(fields)
    task = settings.on_own_head(tagger(**{"17": ("B-ORG", 0.6), "Xy": ("B-ORG", 0.9)}))
    who, number, day = asked(task, "Ada met Cy at Xy 17.").columns["fields"]
    assert (who["value"], who["score"], who["evidence"]["start"]) == ("Ada", 0.9, 0)
    assert (number["value"], number["score"]) == ("17", 0.6)
    assert (day["value"], day["score"]) == (None, 0.9)
    assert day["note"] == "the model finds 'Ada', in which nothing is of the type date"


def test_entities_that_a_head_does_not_have() -> None:
    head = engine.Head("tokens", 0, labels=("O", "B-PER", "I-PER"))
    check_entities(head, ["PER"])
    with pytest.raises(TaskRefusedError, match="no entity 'ORG', only PER"):
        check_entities(head, ["ORG"])
    with pytest.raises(TaskRefusedError, match="none of which is O"):
        check_entities(engine.Head("tokens", 0, labels=("NOUN", "VERB")), [])


def reader(answers: dict[str, engine.Answer], context: int = 16) -> Told:
    """A model that answers for the windows with these words, and finds nothing in others."""
    nothing = engine.Answer(0, 1, 0.1, 0.8)
    return Told(
        "span", ("start", "end"), context, lambda asked: next((a for w, a in answers.items() if w in asked), nothing)
    )


def test_the_best_span_of_any_window() -> None:
    answers = {"Word1": engine.Answer(0, 5, 0.4, 0.3), "Word3": engine.Answer(0, 5, 0.6, 0.2)}
    settings = ExtractSettings((Field("who", description="what is here?"),))
    (row,) = asked(settings.on_own_head(reader(answers)), FIVE).columns["fields"]
    assert (row["value"], row["score"], row["verbatim"]) == ("Word3", 0.6, "Word3")
    assert row["evidence"]["start"] == FIVE.index("Word3")


def test_null_where_no_answer_is_more_probable_in_every_window() -> None:
    settings = ExtractSettings((Field("who"),))
    answer = asked(settings.on_own_head(reader({})), FIVE)
    (row,) = answer.columns["fields"]
    assert (answer.abstained, row["value"], row["score"], row["note"]) == (True, None, 0.8, "the model finds no answer")
    unsure = {"Word1": engine.Answer(0, 5, 0.3, 0.4), "Word3": engine.Answer(0, 1, 0.01, 0.2)}
    (row,) = asked(settings.on_own_head(reader(unsure)), FIVE).columns["fields"]
    assert (row["value"], row["score"]) == ("Word0", 0.3)  # one window gives "no answer" less


def test_a_value_of_the_type_stands_in_the_answer() -> None:
    said = {"Word1": engine.Answer(0, 5, 0.9, 0.01), "7": engine.Answer(0, 1, 0.5, 0.4)}
    settings = ExtractSettings((Field("n", "number"),))
    (row,) = asked(
        settings.on_own_head(reader(said, 20)), "Word1 is here. It goes on and on, and on. 7 is it."
    ).columns["fields"]
    assert (row["value"], row["score"]) == ("7", 0.5)
    (row,) = asked(settings.on_own_head(reader({"word": said["Word1"]})), "words only").columns["fields"]
    assert (row["value"], row["score"]) == (None, 0.9)
    assert row["note"] == "the model answers 'words', in which nothing is of the type number"


def test_a_question_must_leave_room() -> None:
    settings = ExtractSettings((Field("short"), Field("long", description="what " * 14)))
    with pytest.raises(TaskRefusedError, match="the question of the field long has 17 tokens: of 16 that are read"):
        settings.on_own_head(reader({}))


def test_what_the_settings_need() -> None:
    assert ClassifySettings(()).kinds == ("sequence",)
    assert ExtractSettings(()).kinds == ExtractSettings((Field("a", entity="PER"),)).kinds == ("tokens",)
    assert ExtractSettings((Field("a"),)).kinds == ("embedding", "text", "span")
    assert "entity" not in ExtractSettings((Field("a"),)).to_json()["fields"][0]
    for settings in (ClassifySettings(()), ExtractSettings(()), ExtractSettings((Field("a", entity="PER"),))):
        assert type(settings).from_json(settings.to_json()) == settings
