"""The parts of a PDF: text of pages, remarks, outline, attachments, text that nobody sees; for formats/pdf.py."""
