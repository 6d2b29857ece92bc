"""Iceberg tables through its own Java API: snapshots, files, deletes, changes, commits. Nothing here knows
what a batch is for."""
