"""Word documents (WordprocessingML): styles, lists, tables and boxes, and which text in them is seen."""
