"""Spark's analysed plans, and what they say of a query: its inputs, its keys, its sums. Nothing here runs a query."""
