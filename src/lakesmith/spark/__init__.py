"""The data plane: the only importer of PySpark. The engine and its commands stand here; each room below says
what it holds."""
