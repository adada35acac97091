"""Unicode as tables: classes of code points, decompositions, NFC."""
