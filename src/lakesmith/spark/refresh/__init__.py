"""Incremental refreshes by key: which keys changed rows touch, and their new rows."""
