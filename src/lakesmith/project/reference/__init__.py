"""JSON Schemas and reference pages of the project's files, generated from the declared settings."""
