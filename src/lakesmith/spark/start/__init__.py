"""Gets a session: Java, jars, settings, the start of the JVM, its end. Nothing here reads or writes data."""
