"""What the text of a query says by itself: its tables, columns, shape, keys and fingerprint. Nothing here knows a project's tables, or Spark."""
