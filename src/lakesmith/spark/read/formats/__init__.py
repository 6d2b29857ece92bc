"""How Spark reads the landing formats, which ``read.files`` lists."""
