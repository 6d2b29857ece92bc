"""Spark's analysed plans, and what they show of a query: its inputs, keys and sums."""
