"""DrawingML, which Word, PowerPoint and Excel share: shapes, colours of themes, charts, and which text on them is seen."""
