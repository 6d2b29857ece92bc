"""What each landing format is without Spark, one file a format, found in ``registry``; how Spark reads them is not here."""
