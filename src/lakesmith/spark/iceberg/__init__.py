"""Iceberg tables by Iceberg's Java API: snapshots, files, deletes, changes, commits."""
