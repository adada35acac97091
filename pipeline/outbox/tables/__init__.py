"""Tables to take away: one row a document, one typed column a field, in the formats that people and programs open."""

from collections.abc import Mapping

from pipeline.outbox.tables import csv, jsonl, parquet, xlsx
from pipeline.outbox.tables.base import Format

FORMATS: Mapping[str, Format] = {
    "csv": csv.write,
    "jsonl": jsonl.write,
    "parquet": parquet.write,
    "xlsx": xlsx.write,
}
"""Ending of a file's name -> what writes it."""
