"""The metadata plane: catalogs, snapshots, progress records and ledgers, in milliseconds and without a
JVM."""
