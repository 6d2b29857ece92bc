"""Tables in PostgreSQL: their changes become landing files, which are ingested as any other. Without
Spark."""
