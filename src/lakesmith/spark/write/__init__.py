"""Writes rows: append, upsert, versions, rebuild, replacement by place. Nothing here decides which way."""
