"""A long text is looked at in windows, which begin where a block or a line of it does."""

WINDOW = 40_000
"""Characters of a window, at most."""


def windows_of(text: str, size: int = WINDOW) -> list[tuple[int, int]]:
    """The starts and ends of the windows of a text, which follow one another; one of an empty text."""
    windows, start = list[tuple[int, int]](), 0
    while len(text) - start > size:
        end = _cut(text, start + size // 2, start + size)
        windows.append((start, end))
        start = end
    return [*windows, (start, len(text))]


def window_at(windows: list[tuple[int, int]], offset: int) -> int:
    """The number, from 0, of the window in which a character stands; the last one for what lies beyond."""
    return next((number for number, (_, end) in enumerate(windows) if offset < end), len(windows) - 1)


def _cut(text: str, least: int, most: int) -> int:
    """The best place for a cut: behind an empty line, else behind a line, else at the end."""
    for mark in ("\n\n", "\n"):
        if (at := text.rfind(mark, least, most)) >= 0:
            return at + len(mark)
    return most
