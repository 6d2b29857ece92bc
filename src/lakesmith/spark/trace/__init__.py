"""Follows an event through the tables below a source, on a copy of the lake that is thrown away."""
