"""DrawingML, which Word, PowerPoint and Excel share: shapes, colours, charts, and which text on them is seen."""
