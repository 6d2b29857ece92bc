"""Quality rules: DQDL in, Spark SQL predicates on single rows out. Pure: no Spark, no IO."""
