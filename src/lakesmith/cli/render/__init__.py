"""How results look: text in columns, tables, JSON, and the view of a run."""
