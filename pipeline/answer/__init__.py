"""Documents through a model, many together."""

from typing import TYPE_CHECKING

from pipeline.surface import surface

if TYPE_CHECKING:
    from pipeline.answer.heads import promises_of, with_head
    from pipeline.answer.machine import Machine, Warming, kernels_of, look_at_machine
    from pipeline.answer.models import (
        check_machine,
        check_model,
        copy_head,
        copy_model,
        examine_model,
        existing,
        glance_at_model,
        import_model,
        inspect_model,
        is_gguf,
        list_models,
        model_sha256,
        quantize_model,
        same_use,
        writing_of,
    )
    from pipeline.answer.today import digest_today, remembered_sha256

__getattr__, __dir__ = surface(__name__, __file__)
