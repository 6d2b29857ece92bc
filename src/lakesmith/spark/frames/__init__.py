"""What is done to any frame or text of SQL: quoting, comparing, rounding, counting, JSON. Nothing here knows
files, tables or batches."""
