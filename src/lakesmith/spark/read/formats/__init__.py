"""How Spark reads each landing format, one file a format, found in ``registry``; what all formats share is
not here."""
