"""The landing formats without Spark, one file a format, found in ``registry``."""
