"""Running a task over one text."""

from collections.abc import Callable

import pytest

from pipeline.document import Parsed
from pipeline.tasks import Answer, Settings, make_task
from tests.pipeline.tasks.bag import BagOfWords

Ask = Callable[..., Answer]


@pytest.fixture
def ask() -> Ask:
    """ask(settings, text): the answer, with the bag of words as the model."""

    def run(settings: Settings, text: str, page_starts: tuple[int, ...] = ()) -> Answer:
        model, document = BagOfWords(), Parsed(text, "text/plain", "none", page_starts)
        task = make_task(settings, model)
        spans = task.spans(document)
        vectors = model.embed([text[span.start : span.end] for span in spans])
        return task.answer(document, spans, vectors)

    return run
