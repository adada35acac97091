"""What a PDF holds besides the text of its pages, and which part of that text nobody sees; formats/pdf.py reads it."""
