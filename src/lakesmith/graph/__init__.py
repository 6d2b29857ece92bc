"""The tables as a graph, and what the text of a query says of itself. No IO but the cache of analyses."""
