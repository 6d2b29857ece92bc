"""The gateway to the JVM: values that pass it, and the meaning of its failures."""
