"""The web page of ``lakesmith ui``: the lake for reading, by a process that starts no JVM."""
