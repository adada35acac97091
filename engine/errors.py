"""The engine's errors; every failure of a caller's making is an EngineError."""


class EngineError(Exception):
    """The engine refused something; the message says what, where, what was found and what was expected."""


class BadModelFile(EngineError):  # noqa: N818 - the name is part of the public surface
    """A model file or folder is damaged, incomplete, or not what it claims to be."""


class UnsupportedModel(EngineError):  # noqa: N818
    """A sound model that this engine does not compute; the message says what it does compute."""


class InputTooLong(EngineError):  # noqa: N818
    """A text has more tokens than the model's context; nothing was cut."""


class UnsupportedCpu(EngineError):  # noqa: N818
    """The processor lacks an instruction set that was asked for or is the least that is needed."""
