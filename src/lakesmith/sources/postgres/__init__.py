"""Tables in PostgreSQL: their changes become landing files, ingested as any other."""
