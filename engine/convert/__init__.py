"""Models of other formats to GGUF."""

from engine.convert.importer import FILE_TYPES, MODEL_TYPES, import_model

__all__ = ["FILE_TYPES", "MODEL_TYPES", "import_model"]
