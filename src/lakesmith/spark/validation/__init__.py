"""Which rows a table has to have: rules, keys, deletes, times of validity. Nothing here reads what the table has."""
