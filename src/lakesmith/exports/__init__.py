"""Exports of tables: which are behind, what a version has, and how it is published. No Spark."""
