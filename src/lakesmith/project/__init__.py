"""The project's files, read into frozen definitions that know their file and line. No Spark, no lake."""
