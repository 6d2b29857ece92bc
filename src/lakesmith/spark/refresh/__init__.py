"""Refreshes by keys: which keys changed rows touch, and what they have to have. Everything here works on a table that is there."""
