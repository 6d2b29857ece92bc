"""The metadata plane: catalogs, snapshots, progress records and ledgers, without a JVM."""
