"""Running a task over one text."""

from collections.abc import Callable

import pytest

from pipeline.document import Parsed
from pipeline.tasks import Answer, Task
from tests.pipeline.tasks.bag import BagOfWords

Ask = Callable[..., Answer]


@pytest.fixture
def ask() -> Ask:
    """ask(settings, text): the answer, with the bag of words as the model."""

    def run(settings: Task, text: str, page_starts: tuple[int, ...] = ()) -> Answer:
        model, document = BagOfWords(), Parsed(text, "text/plain", "none", page_starts)
        task = settings.on_embedding(model)
        spans = task.spans(document)
        vectors = model.embed([text[span.start : span.end] for span in spans])
        return task.answer(document, spans, vectors)

    return run
