"""The commands and how they look. Nothing is decided here."""
