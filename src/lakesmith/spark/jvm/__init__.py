"""The gateway to the JVM: values that pass it, and what its failures mean. Nothing here knows tables or
batches."""
