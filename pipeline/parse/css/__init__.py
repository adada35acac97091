"""The styles of a page's elements by its style sheets (CSS, as browsers of 2026 read it), within bounds of work."""
