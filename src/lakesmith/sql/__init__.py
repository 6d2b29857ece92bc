"""What the text of a query says: tables, columns, shape, keys, fingerprint. It knows no project and no
Spark."""
