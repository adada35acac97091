"""The queue of documents that people look at: an index of the log and of the parts, which can be made again."""
