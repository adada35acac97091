"""Excel workbooks (SpreadsheetML): rows, cell styles and conditional formats, and which cells are seen."""
