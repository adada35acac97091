"""What the Office formats have in common: their two containers, drawings, numbered paragraphs, cells."""
