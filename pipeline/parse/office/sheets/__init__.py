"""Workbooks: rows, cell styles, number formats, formulas, conditional formats, and which cells are seen."""
