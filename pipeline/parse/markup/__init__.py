"""XML that strangers wrote, read with bounds and without entities: trees, streams and running text."""
