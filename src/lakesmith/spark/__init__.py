"""The data plane: the only importer of PySpark. The engine and its commands; each room has its own page."""
