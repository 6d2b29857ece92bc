"""Tables in PostgreSQL: what changed in them becomes a landing file, which is taken as any other. Nothing here knows Spark."""
