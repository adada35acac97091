"""The readers of Office formats and the parts they share: two containers, drawings, numbered paragraphs, cells."""
