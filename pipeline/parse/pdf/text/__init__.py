"""The text of a PDF page as it is stored: characters, fonts, lines, and the text of its annotations."""
