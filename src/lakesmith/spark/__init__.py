"""The data plane: the only importer of PySpark. Sessions, change feeds, merges, commits."""
