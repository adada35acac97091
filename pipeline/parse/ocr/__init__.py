"""Text recognition by Tesseract, another program, on pixels that a parser has decoded."""
