"""OpenDocument text, presentations and spreadsheets: content, styles, and which text is seen."""
