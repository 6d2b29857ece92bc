"""The tables as a graph: what reads what, in which order, and what is wrong with it."""
