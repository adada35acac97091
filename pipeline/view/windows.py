"""A long text is looked at in windows, which begin where a block or a line of it does."""

WINDOW = 40_000
"""Characters of a window, at most."""


def windows_of(text: str, size: int = WINDOW) -> list[tuple[int, int]]:
    """The starts and ends of the windows of a text, which follow one another; one of an empty text.

    One ends behind an empty line, else behind a line, else where it is full.
    """
    windows, start = list[tuple[int, int]](), 0
    while len(text) - start > size:
        least, most = start + size // 2, start + size
        cuts = ((mark, text.rfind(mark, least, most)) for mark in ("\n\n", "\n"))
        end = next((at + len(mark) for mark, at in cuts if at >= 0), most)
        windows.append((start, end))
        start = end
    return [*windows, (start, len(text))]


def window_at(windows: list[tuple[int, int]], offset: int) -> int:
    """The number, from 0, of the window in which a character stands; the last one for what lies beyond."""
    return next((number for number, (_, end) in enumerate(windows) if offset < end), len(windows) - 1)
