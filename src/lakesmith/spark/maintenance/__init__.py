"""Maintenance of tables: what they need is decided in ``plan`` and done here, in pieces between runs."""
