"""What the text of a query says: tables, columns, shape, keys, fingerprint. No project, no Spark."""
