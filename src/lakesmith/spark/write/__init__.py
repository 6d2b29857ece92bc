"""Brings a table's rows to what they have to be: append, upsert, versions, rebuild, replaced rows. Nothing here decides how."""
