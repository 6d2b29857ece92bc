"""The rows that a table must have: rules, keys, deletes, validity periods. Nothing here reads the table."""
