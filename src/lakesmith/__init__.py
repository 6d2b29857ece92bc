"""lakesmith: a lakehouse you declare."""

__version__ = "0.1.0"
