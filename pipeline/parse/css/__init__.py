"""What a page's style sheets say of its elements (CSS, as browsers of 2026 read it), within bounds of work."""
