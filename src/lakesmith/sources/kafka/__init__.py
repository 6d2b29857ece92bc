"""Topics in Kafka as sources: how brokers are reached, what a topic holds, and which of its records a batch takes."""
